const make = (name, text, into) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (into) into.append(e);
  return e;
};
const show = n => typeof n == 'number' ? n.toLocaleString('en-US') : String(n), runs = data.runs,
      utc = ms => new Date(ms).toISOString();
const short = n => {
  if (typeof n != 'number') return String(n);
  let i = 0;
  const sign = n < 0 ? '-' : '';
  n = Math.abs(n);
  if (n < 1000) return sign + n;
  while (n >= 999.95 && i < 6) {
    n /= 1000;
    i++;
  }
  return sign + n.toFixed(1) + ' KMGTPE'[i];
};
at('title').textContent = runs.length == 1 ? `${runs[0].script_name} on ${runs[0].host}` : `${runs.length} runs`;
for (const r of runs) {
  const row = at('summary').tBodies[0].insertRow();
  [r.host, r.kernel, r.script_name, utc(r.begin_ms), `${((r.end_ms - r.begin_ms) / 1000).toFixed(2)} s`,
   r.command || (r.processes.length ? 'processes ' + r.processes.join(' ') : ''), r.file]
      .forEach(t => row.insertCell().textContent = t);
  const armed = Object.entries(r.armed).map(([how, places]) => `${show(places)} by ${how}`).join(', ');
  if (armed) make('div', `${r.host}: places in processes: ${armed}; paused ${r.paused}`, at('losses'));
  for (const text of r.lost) {
    const d = make('div', `${r.host}: ${text}`, at('losses'));
    d.className = 'lost';
  }
  make('h3', `${r.script_name} (${r.host}) ${r.arguments.join(' ')}`, at('scripts'));
  make('pre', r.script, at('scripts'));
}
table('probes', data.probes, 4, show);
table('modules', data.modules, 0);
if (!data.modules.length) at('modules-part').hidden = true;
if (!data.globals.length) at('globals-part').hidden = true;
if (data.samples.threads)
  at('threads-line').textContent =
      `${show(all)} samples of ${data.samples.threads} thread${data.samples.threads == 1 ? '' : 's'}` +
      (data.samples.lost ? `; ${data.samples.lost} are not shown` : '') +
      (data.samples.cut ? `; the outer callers of ${data.samples.cut} are not known` : '');

// ---- globals: values, histograms, heat maps, lines
const bound = n => {
  let i = 0;
  const sign = n < 0 ? '-' : '';
  n = Math.abs(n);
  while (n >= 1024 && i < 6) {
    n /= 1024;
    i++;
  }
  return sign + n + ' KMGTPE'[i].trim();
};
const log_low = b => b == 64 ? 0 :
    b > 64                   ? 2 ** (b - 65) :
                               -(2 ** (64 - b)),
      log_range = b => b == 64 ? '0' :
    b > 64                     ? `[${bound(log_low(b))}, ${bound(2 * log_low(b))})` :
                                 `(${bound(2 * log_low(b))}, ${bound(log_low(b))}]`;
const linear_range = (g, b) => b == 0 ? `below ${g.low}` :
    b == g.last ? `from ${g.low + (b - 1) * g.width} on` :
                  `[${g.low + (b - 1) * g.width}, ${g.low + b * g.width})`;
function histogram(into, rows) {
  const box = make('div', undefined, into), most = Math.max(...rows.map(r => r[1]), 1), sum = rows.reduce((s, r) => s + r[1], 0),
        wide = Math.max(...rows.map(r => r[0].length), 1);
  box.className = 'bars';
  for (const [range, count] of rows) {
    const line =
        make('div', `${range.padStart(wide)} ${show(count).padStart(12)} ${(100 * count / sum).toFixed(1).padStart(5)} % `, box);
    make('i', undefined, line).style.width = 300 * count / most + 'px';
  }
}
const filled = pairs => {
  if (!pairs.length) return [];
  const known = new Map(pairs), rows = [];
  for (let b = pairs[0][0]; b <= pairs[pairs.length - 1][0]; b++) rows.push([b, known.get(b) || 0]);
  return rows;
};
function heat(into, map) {  // a column for each tick, a row for each power of two
  const buckets = map.columns.flat().map(c => c[0]);
  if (!buckets.length) return;
  const low = Math.min(...buckets), high = Math.max(...buckets),
        wide = Math.max(2, Math.min(16, Math.floor(900 / map.columns.length))), tall = 12;
  let most = 1;
  for (const c of map.columns)
    for (const [, n] of c) most = Math.max(most, n);
  make(
      'div',
      `over time, ${utc(map.times[0]).slice(11, 19)} to ${utc(map.times[map.times.length - 1]).slice(11, 19)}; from ${
          log_range(low)} below to ${log_range(high)} above`,
      into);
  const canvas = make('canvas', undefined, into),
        g = (canvas.width = wide * map.columns.length, canvas.height = tall * (high - low + 1), canvas.getContext('2d'));
  canvas.className = 'heat';
  map.columns.forEach((c, x) => c.forEach(([b, n]) => {
    const v = Math.log1p(n) / Math.log1p(most);
    g.fillStyle = `hsl(${220 - 190 * v} 80% ${92 - 50 * v}%)`;
    g.fillRect(x * wide, (high - b) * tall, wide, tall);
  }));
  canvas.onmousemove = e => {
    const x = Math.floor(e.offsetX / wide), b = high - Math.floor(e.offsetY / tall),
          n = (map.columns[x] || []).find(c => c[0] == b);
    canvas.title = `${utc(map.times[x] || map.times[0]).slice(11, 19)} ${log_range(b)}: ${n ? n[1] : 0}`;
  };
}
function line(into, map) {
  const low = Math.min(0, ...map.values), high = Math.max(...map.values), canvas = make('canvas', undefined, into),
        g = (canvas.width = 600, canvas.height = 60, canvas.getContext('2d')), span = high - low || 1;
  g.strokeStyle = '#48c';
  g.beginPath();
  map.values.forEach((v, i) => {
    const x = 600 * i / Math.max(1, map.values.length - 1), y = 58 - 56 * (v - low) / span;
    i ? g.lineTo(x, y) : g.moveTo(x, y);
  });
  g.stroke();
  canvas.title = `from ${show(low)} to ${show(high)}`;
}
for (const g of data.globals) {
  const part = make('div', undefined, at('globals'));
  make('h3', g.name, part);
  if (g.unread) make('div', `could not be read whole in ${g.unread} runs: its lock was held`, part).className = 'lost';
  if (g.left_out) make('div', `${show(g.left_out)} elements are not shown`, part).className = 'lost';
  if (g.is_array) {
    const id = 'global-' + g.name, t = make('table', undefined, part), head = t.createTHead().insertRow();
    t.id = id;
    t.createTBody();
    g.heads.forEach((h, i) => {
      const th = make('th', h, head);
      th.dataset.by = i;
    });
    table(id, g.rows, g.keys);
  } else if (g.rows.length) {
    make('div', g.heads.map((h, i) => `${h} ${show(g.rows[0][i])}`).join(', '), part);
  } else
    make('div', 'empty', part);
  if (g.log) histogram(part, filled(g.log).map(([b, n]) => [log_range(b), n]));
  if (g.linear) histogram(part, filled(g.linear.buckets).map(([b, n]) => [linear_range(g.linear, b), n]));
  if (g.heat) heat(part, g.heat);
  if (g.line) line(part, g.line);
}

// ---- events: a page of them at a time
const ev = data.events, total_events = ev.times.length, formats = data.formats, starts = new Uint32Array(total_events);
let first = 0, found = null;
for (let i = 0, v = 0, last = 0; i < total_events; i++) {
  starts[i] = v;
  v += ev.formats[i] < 0 ? 1 : formats[ev.formats[i]].strings.length;
  last = ev.times[i] += last;
}
const number_text = (p, v) => {
  const n = BigInt(v), u = BigInt.asUintN(64, n);
  let t = p.c == 'd'           ? (n < 0n ? -n : n).toString() :
      p.c == 'x' || p.c == 'p' ? u.toString(16) :
      p.c == 'X'               ? u.toString(16).toUpperCase() :
      p.c == 'o'               ? u.toString(8) :
                                 u.toString();
  if (p.c == 'p' && !p.width && p.precision < 0) return '0x' + t.padStart(16, '0');
  if (p.precision >= 0) t = t.padStart(p.precision, '0');
  const prefix = p.c == 'p' || (p.f.includes('#') && (p.c == 'x' || p.c == 'X')) ? (p.c == 'X' ? '0X' : '0x') :
      p.c == 'd'                                                                 ? (n < 0n                ? '-' :
                                                                                        p.f.includes('+') ? '+' :
                                                                                        p.f.includes(' ') ? ' ' :
                                                                                                            '') :
                                                                                   '';
  return p.f.includes('0') && !p.f.includes('-') && p.width > 0 && p.precision < 0 ?
      prefix + t.padStart(p.width - prefix.length, '0') :
      prefix + t;
};
function text_of(i) {
  const f = ev.formats[i];
  let v = starts[i];
  if (f < 0) return data.texts[ev.values[v]].replace(/\n$/, '');
  const format = formats[f];
  let at = 0, out = '';
  const next = () => {
    const s = format.strings[at++], x = ev.values[v++];
    return s ? data.texts[x] : x;
  };
  for (const part of format.parts) {
    if (part.t !== undefined) {
      out += part.t;
      continue;
    }
    const p = {...part};
    if (p.width == '*') p.width = Number(next());
    if (p.precision == '*') p.precision = Number(next());
    let t = next();
    if (p.c == 'c')
      t = String.fromCharCode(Number(t) & 255);
    else if (p.c == 's') {
      if (p.precision >= 0) t = t.slice(0, p.precision);
    } else if (typeof t != 'string' || /^-?\d+$/.test(t))
      t = number_text(p, t);
    if (p.width < 0) {
      p.f += '-';
      p.width = -p.width;
    }
    out += p.f.includes('-') ? t.padEnd(p.width || 0) : t.padStart(p.width || 0);
  }
  return out.replace(/\n$/, '');
}
const page_size = 100;
function fill_events() {
  const count = found ? found.length : total_events, body = document.createDocumentFragment();
  first = Math.max(0, Math.min(first, count - 1));
  for (let k = first; k < Math.min(first + page_size, count); k++) {
    const i = found ? found[k] : k, row = make('tr', undefined, body);
    [utc(ev.begin_ms + ev.times[i] / 1000).slice(11, 23), runs[ev.runs[i]].host, ev.cpus[i],
     ev.probes[i] < 0 ? '' : data.points[ev.probes[i]], text_of(i)]
        .forEach(t => make('td', t, row));
  }
  at('events').tBodies[0].replaceChildren(body);
  at('range').textContent = count ? `${show(first + 1)} to ${show(Math.min(first + page_size, count))} of ${show(count)}` +
          (data.events.left_out ? `; ${show(data.events.left_out)} later ones are not in this page` : '') :
                                  'none';
}
function filter_events(text) {
  first = 0;
  found = null;
  if (text) {
    found = [];
    const wanted = text.toLowerCase();
    for (let i = 0; i < total_events; i++)
      if (text_of(i).toLowerCase().includes(wanted)) found.push(i);
  }
  fill_events();
}
at('back').onclick = () => {
  first -= page_size;
  fill_events();
};
at('next').onclick = () => {
  first += page_size;
  fill_events();
};
at('filter').onchange = e => filter_events(e.target.value);
if (!total_events) at('events-part').hidden = true;
for (const part of document.querySelectorAll('section'))
  if (!part.hidden && part.querySelector('h2')) {
    const a = make('a', part.querySelector('h2').textContent, at('nav'));
    a.href = '#' + part.id;
  }
const wanted_events = new URLSearchParams(location.hash.slice(1)).get('events');
if (wanted_events) at('filter').value = wanted_events;
filter_events(wanted_events || '');
document.body.dataset.ready = Math.round(performance.now());
