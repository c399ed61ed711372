// Places the children of a scope in layers, from top to bottom, and routes the edges between them.

const GAP_X = 18;
const GAP_Y = 34;
const GUTTER = 44;
const MOST_WIDTH = 1250;  // layers wider than this are wrapped
const MOST_JOINTS = 500;  // points of long edges; with more of them edges go straight

// items: [{ node, w, h }] in topological order. edges: [{ a, b }] by item number.
// Sets x, y of the items and points of the edges; returns the width and height.
function layered(items, edges) {
  const level = levels(items, edges);
  const rows = wrapped(items, level);
  const joints = addJoints(items, edges, rows, level);
  order(rows, joints);
  const size = coordinates(rows);
  const left = [];
  for (const item of items) left[item.column] = Math.min(left[item.column] ?? Infinity, item.x);
  for (const edge of edges) {
    const a = items[edge.a], b = items[edge.b];
    edge.angular = edge.back || b.row <= a.row || a.column !== b.column;
    edge.gutter = left[b.column] - GUTTER / 2;
  }
  return size;
}

// The longest path over the edges that go forward in topological order; the others go back.
function levels(items, edges) {
  const level = new Int32Array(items.length);
  const into = items.map(() => []);
  for (const edge of edges) {
    edge.back = edge.a >= edge.b;
    if (!edge.back) into[edge.b].push(edge.a);
  }
  for (let i = 0; i < items.length; ++i) {
    for (const a of into[i]) level[i] = Math.max(level[i], level[a] + 1);
  }
  // A source stands just above what it feeds.
  const out = items.map(() => []);
  for (const edge of edges) if (!edge.back) out[edge.a].push(edge.b);
  for (let i = items.length - 1; i >= 0; --i) {
    if (into[i].length === 0 && out[i].length > 0) level[i] = Math.min(...out[i].map((b) => level[b])) - 1;
  }
  return level;
}

function wrapped(items, level) {
  const byLevel = new Map();
  items.forEach((item, i) => {
    if (!byLevel.has(level[i])) byLevel.set(level[i], []);
    byLevel.get(level[i]).push(item);
  });
  const rows = [];
  for (const key of [...byLevel.keys()].sort((a, b) => a - b)) {
    let row = [], width = 0;
    for (const item of byLevel.get(key)) {
      if (row.length > 0 && width + item.w > MOST_WIDTH) { rows.push(row); row = []; width = 0; }
      row.push(item);
      width += item.w + GAP_X;
    }
    rows.push(row);
  }
  rows.forEach((row, r) => row.forEach((item) => { item.row = r; }));
  return rows;
}

// An edge over several rows passes through a narrow joint in each. Returns the links between
// neighbouring rows: [upper, lower].
function addJoints(items, edges, rows) {
  const links = [];
  let joints = 0;
  for (const edge of edges) {
    const a = items[edge.a], b = items[edge.b];
    edge.via = [];
    if (edge.back || b.row <= a.row) continue;
    let last = a;
    const span = b.row - a.row - 1;
    if (joints + span <= MOST_JOINTS) {
      joints += span;
      for (let r = a.row + 1; r < b.row; ++r) {
        const joint = { w: 6, h: 0, row: r };
        rows[r].push(joint);
        edge.via.push(joint);
        links.push([last, joint]);
        last = joint;
      }
    }
    links.push([last, b]);
  }
  return links;
}

function order(rows, links) {
  for (const row of rows) for (const item of row) { item.up = []; item.down = []; }
  for (const [a, b] of links) { a.down.push(b); b.up.push(a); }
  const number = () => rows.forEach((row) => row.forEach((item, i) => { item.at = (i + 0.5) / row.length; }));
  number();
  for (let sweep = 0; sweep < 8; ++sweep) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const item of row) {
        const near = down ? item.up : item.down;
        item.want = near.length ? near.reduce((sum, n) => sum + n.at, 0) / near.length : item.at;
      }
      row.sort((a, b) => a.want - b.want);
      row.forEach((item, i) => { item.at = (i + 0.5) / row.length; });
    }
  }
}

function coordinates(rows) {
  for (const row of rows) {
    let x = 0;
    for (const item of row) { item.x = x; x += item.w + GAP_X; }
    const shift = -(x - GAP_X) / 2;
    for (const item of row) item.x += shift;
  }
  for (let sweep = 0; sweep < 10; ++sweep) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) settle(row, down ? 'up' : 'down');
  }
  let left = Infinity, right = -Infinity, y = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((item) => item.h));
    for (const item of row) {
      left = Math.min(left, item.x);
      right = Math.max(right, item.x + item.w);
      item.y = y + (height - item.h) / 2;
    }
    y += height + GAP_Y;
  }
  for (const row of rows) for (const item of row) item.x -= left;
  return columns(rows, right - left, y - GAP_Y);
}

// A long chain fills the width: its rows stand in several columns, read from left to right.
function columns(rows, w, h) {
  const n = Math.min(Math.floor(MOST_WIDTH / (w + GUTTER)), Math.round(Math.sqrt(h / (w + GUTTER))));
  if (n < 2) {
    for (const row of rows) for (const item of row) item.column = 0;
    return { w, h };
  }
  let column = 0, top = 0, height = 0;
  for (const row of rows) {
    const y = Math.min(...row.map((item) => item.y));
    const end = Math.max(...row.map((item) => item.y + item.h));
    if (end - top > h / n + NODE_H && column < n - 1 && y > top) { ++column; top = y; }
    for (const item of row) {
      item.column = column;
      item.x += column * (w + GUTTER);
      item.y += GUTTER / 2 - top;
    }
    height = Math.max(height, end - top);
  }
  return { w: (column + 1) * w + column * GUTTER, h: height + GUTTER };
}

// Moves the items of a row towards their neighbours, in order and apart.
function settle(row, side) {
  const middle = (item) => item.x + item.w / 2;
  for (const item of row) {
    const near = item[side];
    item.want = near.length ? near.reduce((sum, n) => sum + middle(n), 0) / near.length - item.w / 2 : item.x;
  }
  let x = -Infinity, off = 0;
  for (const item of row) {
    item.x = Math.max(item.want, x);
    off += item.x - item.want;
    x = item.x + item.w + GAP_X;
  }
  off /= row.length;
  for (const item of row) item.x -= off;
}

// The points of an edge between two items, after coordinates().
function route(a, b, edge) {
  if (edge.back || b.row <= a.row) {
    const side = Math.max(a.x + a.w, b.x + b.w) + 14;
    return [[a.x + a.w, a.y + a.h / 2], [side, a.y + a.h / 2], [side, b.y + b.h / 2], [b.x + b.w, b.y + b.h / 2]];
  }
  if (a.column !== b.column) {  // below a, up the gutter before b's column, above b
    const from = a.x + a.w / 2, to = b.x + b.w / 2;
    const gutter = edge.gutter, low = a.y + a.h + 12, high = b.y - 14;
    return [[from, a.y + a.h], [from, low], [gutter, low], [gutter, high], [to, high], [to, b.y]];
  }
  return [[a.x + a.w / 2, a.y + a.h], ...edge.via.map((j) => [j.x + j.w / 2, j.y]), [b.x + b.w / 2, b.y]];
}

function curve(points, angular) {
  const f = (n) => n.toFixed(1);
  let path = 'M' + f(points[0][0]) + ' ' + f(points[0][1]);
  if (angular) return path + points.slice(1).map(([x, y]) => 'L' + f(x) + ' ' + f(y)).join('');
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i];
    const middle = (y0 + y1) / 2;
    path += 'C' + f(x0) + ' ' + f(middle) + ' ' + f(x1) + ' ' + f(middle) + ' ' + f(x1) + ' ' + f(y1);
  }
  return path;
}
