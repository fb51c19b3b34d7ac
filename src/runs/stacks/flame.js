const total = stacks.map(s => s[2]), children = stacks.map(() => []);
for (let i = stacks.length - 1; i > 0; i--) {
  total[stacks[i][0]] += total[i];
  children[stacks[i][0]].push(i);
}
children.forEach(c => c.sort((a, b) => frames[stacks[a][1]][0] < frames[stacks[b][1]][0] ? -1 : 1));
const depth = stacks.map(() => 0);
for (let i = 1; i < stacks.length; i++) depth[i] = depth[stacks[i][0]] + 1;
const name = i => i ? frames[stacks[i][1]][0] : 'all', all = total[0],
      percent = n => all ? (100 * n / all).toFixed(2) + ' %' : '0 %';
// As time_text() of base/text/number_text.h: three digits.
const time = ns => {
  const units = ['ns', 'us', 'ms', 's'];
  let scaled = ns, i = 0;
  for (; scaled >= 999.5 && i < 3; i++) scaled /= 1000;
  return `${i ? scaled.toFixed(scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) : scaled} ${units[i]}`;
};
const amount = n => unit == 'ns' ? time(n) : `${n} ${unit}`;
let zoomed = 0, wanted = '';
function draw() {
  const graph = at('graph'), width = graph.clientWidth || 1200, path = [];
  for (let i = zoomed;; i = stacks[i][0]) {
    path.unshift(i);
    if (!i) break;
  }
  const boxes = document.createDocumentFragment();
  let deepest = 0;
  const box = (i, left, share, outer) => {
    const e = document.createElement('div'), text = name(i), hit = wanted && text.toLowerCase().includes(wanted);
    e.style.left = left + 'px';
    e.style.width = share + 'px';
    e.style.top = depth[i] * 18 + 'px';
    let hash = 0;
    for (const c of text) hash = (hash * 31 + c.charCodeAt(0)) % 997;
    e.style.background = i ? `hsl(${10 + hash % 45} 85% ${62 + hash % 13}%)` : '#ddd';
    if (hit) e.classList.add('hit');
    if (outer) e.classList.add('outer');
    e.dataset.stack = i;
    if (share > 24) e.textContent = text;
    e.title = `${text}${i && frames[stacks[i][1]][1] ? ' [' + frames[stacks[i][1]][1] + ']' : ''}\n${amount(total[i])}, ${
        percent(total[i])}; ${amount(stacks[i][2])} in itself`;
    boxes.append(e);
    deepest = Math.max(deepest, depth[i]);
  };
  path.slice(0, -1).forEach(i => box(i, 0, width, true));
  const work = [[zoomed, 0]];
  while (work.length) {
    let [i, left] = work.pop();
    const scale = width / (total[zoomed] || 1);
    if (total[i] * scale < 0.4) continue;
    box(i, left, total[i] * scale, false);
    left += stacks[i][2] * scale;
    for (const c of children[i]) {
      work.push([c, left]);
      left += total[c] * scale;
    }
  }
  graph.style.height = (deepest + 1) * 18 + 'px';
  graph.replaceChildren(boxes);
  if (wanted) {
    let sum = 0;
    const inside = stacks.map(() => false);
    for (let i = 1; i < stacks.length; i++) {
      inside[i] = inside[stacks[i][0]] || name(i).toLowerCase().includes(wanted);
      if (inside[i]) sum += stacks[i][2];
    }
    at('found').textContent = `found in ${amount(sum)}, ${percent(sum)}`;
  } else
    at('found').textContent = '';
}
function table(id, rows, by, text = v => v) {
  const body = at(id).tBodies[0];
  let down = true;
  const fill = () => {
    rows.sort((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0) * (down ? -1 : 1));
    body.replaceChildren(...rows.slice(0, 500).map(row => {
      const r = document.createElement('tr');
      row.forEach((v, column) => {
        const c = r.insertCell();
        c.textContent = text(v, column);
        if (typeof v == 'number') c.className = 'n';
      });
      return r;
    }));
  };
  at(id).tHead.onclick = e => {
    const to = +e.target.dataset.by;
    down = to == by ? !down : typeof (rows[0] || [])[to] == 'number';
    by = to;
    fill();
  };
  fill();
}
const self = frames.map(() => 0), whole = frames.map(() => 0), open = frames.map(() => 0), work = [[0, false]];
while (work.length) {  // a function that calls itself counts once
  const [i, left] = work.pop(), f = stacks[i][1];
  if (left) {
    open[f]--;
    continue;
  }
  if (i) {
    self[f] += stacks[i][2];
    if (!open[f]++) whole[f] += total[i];
    work.push([i, true]);
  }
  for (const c of children[i]) work.push([c, false]);
}
table('functions', frames.map((f, i) => [f[0], f[1], self[i], whole[i]]), 2,
      (v, column) => column < 2 ? v : amount(v));
const zoom = i => {
  zoomed = i;
  draw();
}, search = text => {
  wanted = text.toLowerCase();
  draw();
};
at('graph').onclick = e => {
  if (e.target.dataset.stack) zoom(+e.target.dataset.stack);
};
at('search').oninput = e => search(e.target.value);
at('reset').onclick = () => zoom(0);
onresize = draw;
for (const part of location.hash.slice(1).split('&')) {
  const [key, value] = part.split('=');
  if (key == 'search') {
    at('search').value = decodeURIComponent(value);
    wanted = at('search').value.toLowerCase();
  }
  if (key == 'zoom' && stacks[+value]) zoomed = +value;
}
draw();
