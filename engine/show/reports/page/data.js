// The data of the page, unpacked: what belongs to an op, a scope or a placement by its number.

const DATA = JSON.parse(document.getElementById('data').textContent);
const GRAPH = DATA.graph;
const OPS = GRAPH.op.name.length;
const SCOPES = GRAPH.scopes.name.length;
const DEVICES = DATA.devices.length;
const PLACEMENTS = DATA.placements;

// A node of the tree of scopes is a scope's number, or SCOPES + an op's.
const nodeOfOp = (op) => SCOPES + op;
const isOp = (node) => node >= SCOPES;
const opOf = (node) => node - SCOPES;
const parentOf = (node) => (isOp(node) ? GRAPH.op.scope[opOf(node)] : GRAPH.scopes.parent[node]);
const labelOf = (node) => (isOp(node) ? GRAPH.op.name[opOf(node)] : GRAPH.scopes.name[node] || DATA.graph_name);
const typeOf = (op) => GRAPH.types[GRAPH.op.type[op]];
const deviceName = (device) => (device < 0 ? 'all' : DATA.devices[device].name);

const RANK = new Int32Array(OPS);
GRAPH.op.order.forEach((op, rank) => { RANK[op] = rank; });

// Indexed by scope: children in topological order, ops in it at any depth, their mean rank.
const CHILDREN = Array.from({ length: SCOPES }, () => []);
const SIZE = new Int32Array(SCOPES);
const MEAN_RANK = new Float64Array(SCOPES + OPS);
(function makeTree() {
  const first = new Float64Array(SCOPES + OPS).fill(Infinity);
  for (const op of GRAPH.op.order) {
    MEAN_RANK[nodeOfOp(op)] = first[nodeOfOp(op)] = RANK[op];
    CHILDREN[GRAPH.op.scope[op]].push(nodeOfOp(op));
    for (let s = GRAPH.op.scope[op]; s >= 0; s = GRAPH.scopes.parent[s]) {
      ++SIZE[s];
      MEAN_RANK[s] += RANK[op];
      first[s] = Math.min(first[s], RANK[op]);
    }
  }
  for (let s = 0; s < SCOPES; ++s) {
    MEAN_RANK[s] /= SIZE[s] || 1;
    if (s > 0) CHILDREN[GRAPH.scopes.parent[s]].push(s);
  }
  for (const children of CHILDREN) children.sort((a, b) => first[a] - first[b]);
})();

const DEPTH = new Int32Array(SCOPES);
for (let s = 1; s < SCOPES; ++s) DEPTH[s] = DEPTH[GRAPH.scopes.parent[s]] + 1;

// Edges between the children of each scope: by scope, a Map from "a,b" to what they carry.
const CONSUMERS = Array.from({ length: OPS }, () => []);
const EDGES = Array.from({ length: SCOPES }, () => new Map());
(function liftEdges() {
  for (let dst = 0; dst < OPS; ++dst) {
    const inputs = GRAPH.op.inputs[dst];
    for (let i = 0; i < inputs.length; i += 2) {
      const src = inputs[i];
      CONSUMERS[src].push(dst, inputs[i + 1]);
      let a = nodeOfOp(src), b = nodeOfOp(dst);
      let up = parentOf(a), vp = parentOf(b);
      while (up !== vp) {
        if (DEPTH[up] >= DEPTH[vp]) { a = up; up = parentOf(a); } else { b = vp; vp = parentOf(b); }
      }
      const key = a + ',' + b;
      let edge = EDGES[up].get(key);
      if (!edge) EDGES[up].set(key, edge = { a, b, bytes: 0, count: 0, pairs: [] });
      edge.bytes += Math.max(0, inputs[i + 1]);
      ++edge.count;
      edge.pairs.push(src, dst);
    }
  }
})();

// "Mixed_5b/branch1x1/conv"; of the whole graph its name.
function pathOf(node) {
  const parts = [labelOf(node)];
  for (let s = parentOf(node); s > 0; s = parentOf(s)) {
    if (!GRAPH.scopes.name[s].includes(' ... ')) parts.unshift(GRAPH.scopes.name[s]);
  }
  return parts.join('/');
}
const fullName = (op) => pathOf(nodeOfOp(op));

// Indexed by placement: compute time of each scope by device, which ops are critical, figures of an
// op elsewhere.
for (const placement of PLACEMENTS) {
  placement.share = Array.from({ length: SCOPES }, () => new Float64Array(DEVICES));
  placement.critical = new Uint8Array(OPS);
  placement.runs ??= placement.device;
  for (let op = 0; op < OPS; ++op) {
    for (let s = GRAPH.op.scope[op]; s >= 0; s = GRAPH.scopes.parent[s]) {
      placement.share[s][placement.runs[op]] += placement.lasts[op] + 1e-6;
    }
  }
  for (let i = 0; i < placement.path.length; i += 2) {
    if (placement.path[i] >= 0) placement.critical[placement.path[i]] = 1;
  }
  placement.unit = new Map();
  for (const unit of placement.elsewhere.units) {
    for (const op of unit.ops) placement.unit.set(op, unit);
  }
}

// The placements in the pictures, by number; both where two are compared.
const shown = { placements: PLACEMENTS.map((_, i) => i), chosen: -1 };
const movedOps = PLACEMENTS.length < 2 ? null
  : Uint8Array.from(PLACEMENTS[0].device, (d, op) => (d !== PLACEMENTS[1].device[op] ? 1 : 0));
