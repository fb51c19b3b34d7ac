at('title').textContent = data.title;
at('unit').textContent = unit == 'ns' ? 'time' : unit;
at('facts').textContent =
    `${amount(all)} of ${data.threads.length} thread${data.threads.length == 1 ? '' : 's'} on ${data.host}` +
    (all && data.begin_ms ? `, ${new Date(data.begin_ms).toISOString()} to ${new Date(data.end_ms).toISOString()}` : '') +
    (data.lost ? `; ${data.lost} samples are not shown` : '') +
    (data.cut ? `; the outer callers of ${data.cut} are not known` : '');
at('script').textContent = data.script;
table('threads', data.threads, 3, (v, column) => column < 3 ? v : amount(v));
