// The graph, folded by scope. A scope that is unfolded is a box with its children in it.

const NODE_W = 168;
const NODE_H = 46;
const TITLE_H = 24;
const PAD = 14;
const MOST_NODES = 1500;  // shown at a time

const graphView = { open: new Set([0]), scale: 1, svg: null, holder: null, place: new Map() };

function visibleCount() {
  let n = 0;
  const walk = (scope) => CHILDREN[scope].forEach((child) => {
    ++n;
    if (!isOp(child) && graphView.open.has(child)) walk(child);
  });
  walk(0);
  return n;
}

// Unfolds the largest scopes until there is something to see.
function unfoldSome() {
  for (;;) {
    let largest = -1;
    const walk = (scope) => CHILDREN[scope].forEach((child) => {
      if (isOp(child)) return;
      if (graphView.open.has(child)) walk(child);
      else if (largest < 0 || SIZE[child] > SIZE[largest]) largest = child;
    });
    walk(0);
    const n = visibleCount();
    if (largest < 0 || n >= 12 || n + CHILDREN[largest].length > 60) return;
    graphView.open.add(largest);
  }
}

function unfoldLevel() {
  const closed = [];
  const walk = (scope) => CHILDREN[scope].forEach((child) => {
    if (isOp(child)) return;
    if (graphView.open.has(child)) walk(child); else closed.push(child);
  });
  walk(0);
  for (const scope of closed) {
    if (visibleCount() + CHILDREN[scope].length > MOST_NODES) break;
    graphView.open.add(scope);
  }
  drawGraph();
}

// The size of a node with what is unfolded in it; keeps the places of the children.
function measure(node) {
  if (isOp(node) || !graphView.open.has(node)) return { node, w: NODE_W, h: NODE_H };
  const items = [...CHILDREN[node]].sort((a, b) => MEAN_RANK[a] - MEAN_RANK[b]).map(measure);
  const number = new Map(items.map((item, i) => [item.node, i]));
  const edges = [];
  for (const edge of EDGES[node].values()) edges.push({ a: number.get(edge.a), b: number.get(edge.b), of: edge });
  const inner = items.length ? layered(items, edges) : { w: 0, h: 0 };
  const title = node === 0 ? 0 : TITLE_H;
  return { node, items, edges, title,
    w: Math.max(inner.w + 2 * PAD + 16, NODE_W), h: inner.h + 2 * PAD + title };
}

// Bytes of an edge between nodes that go from one device to another, in any placement shown.
function crossing(edge) {
  return shown.placements.some((p) => {
    const device = PLACEMENTS[p].device;
    for (let i = 0; i < edge.pairs.length; i += 2) {
      if (device[edge.pairs[i]] !== device[edge.pairs[i + 1]]) return true;
    }
    return false;
  });
}

function sharesOf(node, placement) {
  if (!isOp(node)) return placement.share[node];
  const share = new Float64Array(DEVICES);
  share[placement.device[opOf(node)]] = 1;
  return share;
}

function describe(node) {
  const where = shown.placements.map((p) => {
    const share = sharesOf(node, PLACEMENTS[p]);
    const sum = share.reduce((a, b) => a + b, 0);
    const texts = [];
    share.forEach((part, d) => { if (part > 0) texts.push(deviceName(d) + (isOp(node) ? '' : ' ' + percent(part / sum))); });
    return (PLACEMENTS.length > 1 ? PLACEMENTS[p].label + ': ' : '') + texts.join(', ');
  }).join('; ');
  if (isOp(node)) return fullName(opOf(node)) + ' (' + typeOf(opOf(node)) + '), ' + where;
  return labelOf(node) + ', ' + plural(SIZE[node], 'op') + ', ' + where;
}

// A strip per placement: which devices compute what share of the node's time.
function strips(node, x, y, w) {
  const height = shown.placements.length > 1 ? 7 : 10;
  return shown.placements.map((p, i) => {
    const share = sharesOf(node, PLACEMENTS[p]);
    const sum = share.reduce((a, b) => a + b, 0) || 1;
    let left = x;
    const parts = [];
    share.forEach((part, d) => {
      if (part <= 0) return;
      const width = w * part / sum;
      parts.push(svg('rect', { x: left, y: y + i * (height + 1), width, height, fill: colour(d) }));
      if (width > 14 && height > 8) {
        parts.push(svg('text', { x: left + width / 2, y: y + i * (height + 1) + 8.5, 'text-anchor': 'middle', class: 'onstrip' + (inkOn(d) === '#ffffff' ? ' light' : '') }, String(d)));
      }
      left += width;
    });
    return parts;
  });
}

function drawNode(item, x, y) {
  const node = item.node;
  const op = isOp(node) ? opOf(node) : -1;
  const critical = op >= 0 && shown.placements.some((p) => PLACEMENTS[p].critical[op]);
  const act = (event) => { event.stopPropagation(); if (op >= 0) choose(node); else { toggle(node); } };
  const group = svg('g', {
    class: 'node' + (critical ? ' critical' : '') + (shown.chosen === node ? ' chosen' : ''),
    tabindex: 0, role: 'button', 'aria-label': describe(node), 'aria-expanded': op >= 0 ? null : 'false',
    'data-node': node, transform: 'translate(' + x.toFixed(1) + ' ' + y.toFixed(1) + ')', onclick: act,
    onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); act(event); } },
  },
  op >= 0 ? null : svg('rect', { class: 'stack', x: 3, y: 3, width: NODE_W, height: NODE_H, rx: 6 }),
  svg('rect', { class: 'box', width: NODE_W, height: NODE_H, rx: op >= 0 ? 12 : 6 }),
  svg('text', { x: 8, y: 15 }, shortened(labelOf(node), 24)),
  svg('text', { x: 8, y: 28, class: 'small' }, op >= 0
    ? shortened(typeOf(op) + ', ' + us(PLACEMENTS[shown.placements[0]].lasts[op]), 28)
    : '+ ' + plural(SIZE[node], 'op') + ', ' + us(sharesOf(node, PLACEMENTS[shown.placements[0]]).reduce((a, b) => a + b, 0))),
  strips(node, 8, 32, NODE_W - 16),
  movedOps && hasMoved(node) ? svg('circle', { class: 'moved', cx: NODE_W - 12, cy: 11, r: 4 }) : null,
  svg('title', {}, describe(node)));
  graphView.place.set(node, { group, x, y, w: NODE_W, h: NODE_H });
  return group;
}

function hasMoved(node) {
  if (isOp(node)) return movedOps[opOf(node)] === 1;
  return PLACEMENTS[0].moved[node] > 0;
}

function drawScope(item, x, y) {
  const node = item.node;
  const group = svg('g', { class: 'scope' + (DEPTH[node] % 2 ? '' : ' deep') + (shown.chosen === node ? ' chosen' : ''), 'data-node': node });
  if (node !== 0) {
    const fold = (event) => { event.stopPropagation(); toggle(node); };
    group.append(
      svg('rect', { class: 'box', x, y, width: item.w, height: item.h, rx: 8 }),
      svg('g', {
        class: 'title', tabindex: 0, role: 'button', 'aria-expanded': 'true', 'aria-label': describe(node), 'data-node': node,
        onclick: fold, onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); fold(event); } },
      },
      svg('rect', { x, y, width: item.w, height: TITLE_H, rx: 8, fill: 'transparent' }),
      svg('text', { x: x + 10, y: y + 16 }, '\u2212 ' + shortened(labelOf(node), Math.floor(item.w / 8))),
      svg('title', {}, describe(node))));
    graphView.place.set(node, { group, x, y, w: item.w, h: item.h });
  }
  const left = x + PAD, top = y + PAD + item.title;
  const widest = Math.max(1, ...item.edges.map((edge) => edge.of.bytes));
  for (const edge of item.edges) {
    const a = item.items[edge.a], b = item.items[edge.b];
    const points = route(a, b, edge).map(([px, py]) => [px + left, py + top]);
    const cross = crossing(edge.of);
    const near = shown.chosen >= 0 && (edge.of.a === shown.chosen || edge.of.b === shown.chosen);
    const width = edge.of.bytes > 0 ? 1 + 3 * Math.log1p(edge.of.bytes) / Math.log1p(widest) : 0.7;
    group.append(svg('path', {
      class: 'edge' + (cross ? ' cross' : '') + (near ? ' near' : ''), d: curve(points, edge.angular), 'stroke-width': width.toFixed(1),
    }, svg('title', {}, labelOf(edge.of.a) + ' \u2192 ' + labelOf(edge.of.b) + ': ' + plural(edge.of.count, 'edge') + ', ' + bytes(edge.of.bytes) + (cross ? ', between devices' : ''))));
  }
  for (const child of item.items) {
    const px = left + child.x, py = top + child.y;
    group.append(child.items ? drawScope(child, px, py) : drawNode(child, px, py));
  }
  return group;
}

function toggle(node) {
  if (graphView.open.has(node)) graphView.open.delete(node); else graphView.open.add(node);
  const before = graphView.place.get(node);
  const kept = before && { x: before.x - graphView.holder.scrollLeft / graphView.scale, y: before.y - graphView.holder.scrollTop / graphView.scale };
  drawGraph();
  const after = graphView.place.get(node);
  if (kept && after) {
    graphView.holder.scrollLeft = (after.x - kept.x) * graphView.scale;
    graphView.holder.scrollTop = (after.y - kept.y) * graphView.scale;
  }
  if (after) (after.group.querySelector('.title') || after.group).focus({ preventScroll: true });
  choose(node, /*show=*/false);
}

function drawGraph() {
  graphView.place.clear();
  const item = measure(0);
  const pad = 10;
  const picture = svg('svg', { role: 'group', 'aria-label': 'The graph, folded by scope' }, drawScope(item, pad, pad));
  graphView.size = { w: item.w + 2 * pad, h: item.h + 2 * pad };
  picture.setAttribute('viewBox', '0 0 ' + graphView.size.w + ' ' + graphView.size.h);
  graphView.svg = picture;
  graphView.holder.replaceChildren(picture);
  zoomGraph(graphView.scale);
}

function zoomGraph(scale) {
  graphView.scale = Math.max(0.1, Math.min(3, scale));
  graphView.svg.setAttribute('width', graphView.size.w * graphView.scale);
  graphView.svg.setAttribute('height', graphView.size.h * graphView.scale);
}

function fitGraph() {
  const width = graphView.holder.clientWidth - 4;
  zoomGraph(Math.max(0.45, Math.min(1, width / graphView.size.w)));
  graphView.holder.scrollLeft = (graphView.size.w * graphView.scale - width) / 2;
}

function showInGraph(node) {
  for (let s = parentOf(node); s > 0; s = parentOf(s)) graphView.open.add(s);
  drawGraph();
  const place = graphView.place.get(node);
  if (!place) return;
  graphView.holder.scrollLeft = (place.x + place.w / 2) * graphView.scale - graphView.holder.clientWidth / 2;
  graphView.holder.scrollTop = (place.y + place.h / 2) * graphView.scale - graphView.holder.clientHeight / 2;
}

function startGraph() {
  if (movedOps) {
    PLACEMENTS[0].moved = new Int32Array(SCOPES);
    for (let op = 0; op < OPS; ++op) {
      if (movedOps[op]) for (let s = GRAPH.op.scope[op]; s >= 0; s = GRAPH.scopes.parent[s]) ++PLACEMENTS[0].moved[s];
    }
  }
  graphView.holder = el('div', { class: 'view', tabindex: -1 });
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  body('graph').append(
    el('p', { class: 'faint' }, 'Scopes of the op names; click one to unfold it, its title to fold it. The strip says which devices compute it; dashed edges cross from one device to another; red frames are on the critical path.'),
    el('div', { class: 'bar-tools' },
      button('Unfold a level', 'Unfold every scope that is shown', unfoldLevel),
      button('Fold all', 'Fold all scopes', () => { graphView.open = new Set([0]); drawGraph(); fitGraph(); }),
      button('+', 'Larger', () => zoomGraph(graphView.scale * 1.25)),
      button('\u2212', 'Smaller', () => zoomGraph(graphView.scale / 1.25)),
      button('Fit', 'Fit the width', fitGraph)),
    el('div', { class: 'legend' }, DATA.devices.map((device, d) => el('span', {}, chip(d), d + ' ' + device.name))),
    graphView.holder);
  graphView.holder.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomGraph(graphView.scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }, { passive: false });
  unfoldSome();
  drawGraph();
  fitGraph();
}
