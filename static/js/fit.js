// What fits: memory of one GPU, and the estimate in sentences, or why there is none. Twin of site_builder/fit.py, and of
// estimate in site_builder/sizing.py: whole bytes, so that the numbers are the same.

const APART = 25;
const BITS = { auto: 16, bfloat16: 16, float16: 16, fp8: 8, fp8_e4m3: 8, fp8_e5m2: 8 };
const GIB = 2 ** 30;
const LENGTH = 8192;
const PHYSICAL = 7918 / 8000;
/** Blocks that a request holds of each group of layers with a state. */
const STATE_BLOCKS = 2;

/** The fit of a selection: of the decode pool, where prefill and decode are apart. */
export function fitOf({ plan, data, selection, facts, commands, floor }, loads) {
  const { shapes } = data;
  const concurrency = loads.concurrency ?? 1;
  const said = saidOf(plan, commands.find(({ role }) => ["serve", "head", "decode"].includes(role)));
  const served = said.context ?? "";
  const context = loads.context || (/^[0-9]+$/.test(served) ? Number(served) : (shapes.length ?? LENGTH));
  const weights = shapes.weights[selection.variant] ?? null;
  const apart = weights && floor ? difference(floor, weights) : null;
  const bits = BITS[said.cache ?? "auto"];
  let { unknown } = shapes;
  if (!unknown && !weights) unknown = `the bits of ${data.variants[selection.variant].name} are not known`;
  if (!unknown && !bits) unknown = `the size of a cache of ${said.cache} is not known`;
  if (unknown) return { context, concurrency, unknown, estimate: null, apart, fits: null };
  const spread = { ...sizesOf(said), cache_bits: bits, utilisation: shareOf(said, String(facts.min_vllm_version ?? "")) };
  const found = estimate({ weights, cache: shapes.cache }, spread, data.hardware[selection.hardware].gpu_gb, context);
  return { context, concurrency, unknown: "", estimate: found, apart, fits: found.requests >= concurrency };
}

/** What a command says of parallel sizes and memory, by short names. */
function saidOf(plan, command) {
  const names = { ...plan.sizes, ...plan.memory };
  const known = command.lines.slice(1).filter((line) => Object.hasOwn(names, line[0]));
  return Object.fromEntries(known.map((line) => [names[line[0]], line[line.length - 1]]));
}

function sizesOf(said) {
  const size = (name) => (/^[0-9]+$/.test(said[name] ?? "") ? Number(said[name]) : 1);
  return { tp: size("TP"), pp: size("PP"), dp: size("DP"), dcp: size("DCP"), ep: "EP" in said };
}

function shareOf({ utilisation = "" }, version) {
  return /^[01]?\.?[0-9]+$/.test(utilisation) ? Math.floor(Number(utilisation) * 100 + 0.5) : usualUtilisation(version);
}

/** The warning where a published floor and the estimate of the weights disagree; none where they agree. */
export function apartWarnings({ apart }, floor) {
  if (apart === null || Math.abs(apart) < APART) return [];
  return [
    `The published floor is ${floor} GB, and the weights of these shapes need ${Math.abs(apart)} %` +
      ` ${apart > 0 ? "more" : "less"}: one of the two is wrong.`,
  ];
}

/** Bytes as GiB with one decimal. */
function gib(size) {
  const tenths = Math.floor((Math.abs(size) * 10) / GIB + 0.5);
  return `${size < 0 && tenths ? "-" : ""}${Math.floor(tenths / 10)}.${tenths % 10}`;
}

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The estimate in sentences. */
export function linesOf(fit, gpu) {
  if (!fit.estimate) return [`What the cache holds is unknown: ${fit.unknown}.`];
  const found = fit.estimate;
  const lines = [
    `Estimate for one GPU (${gpu}, ${gib(found.memory_bytes)} GiB, of which vLLM takes ${found.utilisation_percent} %):` +
      ` ${gib(found.weights_bytes)} GiB weights, ${gib(found.activations_bytes)} activations, ${gib(found.other_bytes)} other,` +
      ` ${gib(found.graphs_bytes)} CUDA graphs; ${gib(found.cache_bytes)} GiB are left for the cache.`,
  ];
  if (found.cache_bytes <= 0) return [...lines, "The weights leave no room for a cache."];
  return [
    ...lines,
    `That is ${grouped(found.tokens)} tokens in the replica at ${grouped(found.bytes_per_token)} bytes a token and GPU:` +
      ` ${grouped(found.requests)} requests of ${grouped(fit.context)} tokens at once; ${grouped(fit.concurrency)}` +
      ` ${fit.fits ? "fit" : "do not fit"}.`,
  ];
}

/** What a GPU of so many GB by its name holds, and how many requests of `length` tokens a replica holds. */
function estimate({ weights, cache }, spread, gigabytes, length) {
  const moe = weights.experts > 0;
  const several = spread.tp * spread.pp > 1;
  const memory = Math.floor(gigabytes * PHYSICAL * GIB);
  const found = weightsPerGpu(weights, spread);
  const activations = moe ? Math.floor((GIB * 5) / 2) : 2 * GIB;
  const other = several ? Math.floor((GIB * 21) / 10) : Math.floor((GIB * 27) / 100);
  const budget = Math.floor((memory * spread.utilisation) / 100) - (found + activations + other + GIB);
  const tokens = cachedTokens(cache, spread, budget, length);
  const rest = total(weights) - weights.experts;
  return {
    memory_bytes: memory,
    utilisation_percent: spread.utilisation,
    weights_bytes: found,
    activations_bytes: activations,
    other_bytes: other,
    graphs_bytes: GIB,
    cache_bytes: budget,
    bytes_per_token: layerBytes(cache, spread) * Math.ceil(cache.full / spread.pp),
    request_bytes: requestBytes(cache, spread, length),
    replica_weights_bytes: rest * spread.dp + weights.experts * (spread.ep ? 1 : spread.dp),
    tokens: tokens * spread.dp,
    requests: Math.floor(tokens / length) * spread.dp,
  };
}

/** How many percent more than a published floor the weights × 1.2 are. */
function difference(floor, weights) {
  return Math.floor(((total(weights) * 1.2) / (floor * 1e9) - 1) * 100 + 0.5);
}

/** The bytes of a checkpoint. */
function total({ embeddings, attention, mlp, experts, shared }) {
  return embeddings + attention + mlp + experts + shared;
}

/** The share of a GPU in hundredths that a vLLM of this version takes when it is not told. */
function usualUtilisation(version) {
  const found = /^(\d+)\.(\d+)/.exec(version);
  if (!found) return 92;
  return Number(found[1]) === 0 && Number(found[2]) < 26 ? 90 : 92;
}

function weightsPerGpu(weights, { tp, pp, dp, ep }) {
  const layers = (weights.attention + weights.mlp + weights.shared) / tp + weights.experts / (ep ? tp * dp : tp);
  const embeddings = pp === 1 ? weights.embeddings : weights.embeddings / 2;
  return Math.ceil(layers / pp + embeddings / tp);
}

function layerBytes(cache, { tp, dcp, cache_bits: bits }) {
  if (!cache.heads) return Math.ceil(((cache.elements * bits) / 8 + cache.extra) / dcp);
  return Math.ceil((Math.max(1, Math.floor(cache.heads / tp)) * cache.elements * bits) / 8 / dcp);
}

function requestBytes(cache, spread, length) {
  const page = pageBytes(cache, spread);
  if (page) return blocksOf(cache, spread, length) * page;
  const full = Math.ceil(cache.full / spread.pp);
  const sliding = Math.ceil(cache.sliding / spread.pp);
  return layerBytes(cache, spread) * (full * length + sliding * Math.min(length, cache.window));
}

/** The tokens of a block, where states and tokens share blocks; else 0. */
function blockTokens(cache, spread) {
  if (!cache.mamba || !cache.full) return 0;
  return Math.ceil(Math.ceil(cache.state / spread.tp) / (16 * layerBytes(cache, spread))) * 16;
}

function pageBytes(cache, spread) {
  return blockTokens(cache, spread) * layerBytes(cache, spread) * Math.ceil(cache.full / spread.pp);
}

function blocksOf(cache, spread, length) {
  return Math.ceil(length / blockTokens(cache, spread)) + Math.ceil(cache.mamba / cache.full) * STATE_BLOCKS;
}

/** How many tokens a budget in bytes holds, where requests have `length` tokens. Products may exceed 2^53. */
function cachedTokens(cache, spread, budget, length) {
  const request = requestBytes(cache, spread, length);
  const page = pageBytes(cache, spread);
  if (budget <= 0 || !request) return 0;
  if (page) return scaled(Math.floor(budget / page), length, blocksOf(cache, spread, length));
  return scaled(budget, length, request);
}

/** The whole part of one × other / divisor, exactly. */
function scaled(one, other, divisor) {
  return Number((BigInt(one) * BigInt(other)) / BigInt(divisor));
}
