// The edge worker: answers the `.json` and `.md` of recipes for any query from the sheets that lie beside the files of a
// site (`build.py build --edge`), and hands everything else to those files. Its answers are those of the server
// (site_builder/serve.py), byte for byte; a test compares them.
//
// `env.ASSETS.fetch(request)` gives a file of the site. It is the standard module form of workers: Cloudflare Workers,
// workerd and what is compatible with them.
import { answer, full } from "./answer.js";
import { asJson } from "./as-json.js";
import { asMarkdown } from "./as-markdown.js";

const LONGEST_QUERY = 8 * 1024;
const ALLOW = "GET, HEAD, OPTIONS";
const CACHE = "public, max-age=300, s-maxage=3600, stale-while-revalidate=86400";
const OPEN = { "access-control-allow-origin": "*", "x-content-type-options": "nosniff" };
const VARY = { vary: "accept-encoding" };
const TEXT = "text/plain; charset=utf-8";
const TYPES = { json: "application/json", md: "text/markdown; charset=utf-8" };
const TITLES = {
  404: "Not Found",
  405: "Method Not Allowed",
  414: "URI Too Long",
  422: "Unprocessable Content",
  501: "Not Implemented",
};
const NAME = "([^/]+)";
const FORMS = [
  ["hardware", "strategy", `^${NAME}/${NAME}/hw/${NAME}/strategies/${NAME}\\.(json|md)$`],
  ["hardware", null, `^${NAME}/${NAME}/hw/${NAME}\\.(json|md)$`],
  ["strategy", null, `^${NAME}/${NAME}/strategies/${NAME}\\.(json|md)$`],
  [null, null, `^${NAME}/${NAME}\\.(json|md)$`],
].map(([one, other, pattern]) => ({ names: [one, other].filter(Boolean), pattern: new RegExp(pattern) }));
const PAGE = new RegExp(`^${NAME}/${NAME}$`);
/** Addresses that only the server answers. */
const SERVER_ONLY = /(^|\/)compare(\.json|\.md)?$|^v1\/|^mcp$/;
const EXPORT = /\.(sh|config\.yaml|env|compose\.yaml|k8s\.yaml|dynamo\.yaml)$/;
/** The sheets that were read last; each is some ten kilobytes. */
const KEPT = 200;
const sheets = new Map();

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const base = (env.BASE_PATH ?? "").replace(/\/$/, "");
    const path = decoded(url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : url.pathname);
    const query = url.search.slice(1);
    const asked = path === null ? null : formOf(path, request);
    if (!asked) {
      const alone = path !== null && (SERVER_ONLY.test(path) || (EXPORT.test(path) && query));
      return alone ? refusal(path, 501, "this host has no server for exports of a query, comparisons and tools") : env.ASSETS.fetch(request);
    }
    if (request.method === "OPTIONS") return options();
    if (!["GET", "HEAD"].includes(request.method)) {
      return refusal(`.${asked.suffix}`, 405, "this address is read only", { headers: { allow: ALLOW } });
    }
    if (query.length > LONGEST_QUERY) {
      return refusal(`.${asked.suffix}`, 414, `the query is longer than ${LONGEST_QUERY} bytes`);
    }
    const known = await sheetOf(asked.id, (name) => env.ASSETS.fetch(new Request(new URL(`${base}/${name}`, url))));
    if (!known) {
      return asked.page ? env.ASSETS.fetch(request) : refusal(`.${asked.suffix}`, 404, "there is nothing at this address");
    }
    const { sheet, variant, id } = known;
    // A page's address belongs to a recipe; the checkpoint of a variant leads on to it, as its file does.
    if (asked.page && (variant || id !== asked.id)) return env.ASSETS.fetch(request);
    if (id !== asked.id) return redirect(`${base}/${asked.path.replace(asked.id, id)}`, url.search);
    const view = answer(sheet, { ...asked, variant }, query);
    if (view.adjustments.length && view.strict) {
      return refusal(`.${asked.suffix}`, 422, "what was asked does not fit together", { adjustments: view.adjustments });
    }
    return rendered(view, asked, request);
  },
};

/** What an address asks: {id, hardware, strategy, suffix}; null where it is no form of a recipe. */
function formOf(path, request) {
  for (const { names, pattern } of FORMS) {
    const match = pattern.exec(path);
    if (match) {
      const parts = Object.fromEntries(names.map((name, index) => [name, match[index + 3]]));
      return { id: `${match[1]}/${match[2]}`, path, suffix: match[match.length - 1], page: false, ...parts };
    }
  }
  const match = prefersMarkdown(request.headers.get("accept") ?? "") && PAGE.exec(path);
  return match && !/\.[a-z0-9]+$/.test(path) ? { id: path, path, suffix: "md", page: true } : null;
}

/** The sheet of an id in any case, the variant whose checkpoint the id is, and the id as it is spelled. */
async function sheetOf(id, read) {
  const name = `_edge/${id.toLowerCase()}.json`;
  let known = sheets.get(name);
  if (!known) {
    const answered = await read(name.split("/").map(encodeURIComponent).join("/"));
    if (!answered.ok || !(answered.headers.get("content-type") ?? "").includes("json")) return null;
    const found = await answered.json();
    const sheet = found.recipe ? (await sheetOf(found.recipe, read))?.sheet : found;
    if (!sheet) return null;
    known = { sheet, variant: found.variant, id: found.id ?? sheet.data.id };
    if (sheets.size >= KEPT) sheets.delete(sheets.keys().next().value);
    sheets.set(name, known);
  }
  return known;
}

async function rendered(view, asked, request) {
  const body = new TextEncoder().encode(asked.suffix === "json" ? asJson(view) : asMarkdown(view));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).slice(0, 16);
  const etag = `"${[...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
  const headers = new Headers({ "cache-control": CACHE, ...OPEN, etag, vary: asked.page ? "accept, accept-encoding" : "accept-encoding" });
  if (asked.suffix === "md") headers.set("link", `<${encoded(full(view.sheet, view.id, view.query))}>; rel="canonical"`);
  const tags = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags.includes(etag) || tags.includes("*")) return new Response(null, { status: 304, headers });
  headers.set("content-type", TYPES[asked.suffix]);
  headers.set("content-length", String(body.length));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

function options() {
  const more = { "access-control-allow-methods": ALLOW, "access-control-allow-headers": "*", "access-control-max-age": "86400" };
  return new Response(null, { status: 204, headers: { allow: ALLOW, "access-control-allow-origin": "*", "content-type": TYPES.json, ...VARY, ...more } });
}

function redirect(path, search) {
  return new Response(null, {
    status: 308,
    headers: { location: encoded(path) + search, "cache-control": CACHE, "access-control-allow-origin": "*", "content-type": TEXT, ...VARY },
  });
}

/** An error in the form of what was asked for. */
function refusal(path, status, detail, { adjustments, headers = {} } = {}) {
  const title = TITLES[status];
  const common = { ...headers, "cache-control": "no-store", ...OPEN, ...VARY };
  if (path.endsWith(".json")) {
    const error = { status, title, detail, did_you_mean: [], ...(adjustments ? { adjustments } : {}) };
    return new Response(`${JSON.stringify({ error })}\n`, { status, headers: { ...common, "content-type": TYPES.json } });
  }
  const listed = (adjustments ?? []).map((entry) => `- ${entry.parameter}=${entry.requested}: ${entry.reason}`);
  const type = path.endsWith(".md") ? TYPES.md : TEXT;
  const text = [`${title}: ${detail}.`, ...listed].join("\n");
  return new Response(`${text}\n`, { status, headers: { ...common, "content-type": type } });
}

/** Whether a client names text/markdown and likes it at least as much as HTML. Twin of prepared.prefers_markdown. */
function prefersMarkdown(accept) {
  const wishes = new Map();
  for (const part of accept.toLowerCase().split(",")) {
    const [name, ...parameters] = part.split(";").map((piece) => piece.trim());
    const quality = parameters.find((piece) => piece.startsWith("q="))?.slice(2) ?? "1";
    wishes.set(name, /^[0-9.]+$/.test(quality) ? Number(quality) : 0);
  }
  const html = wishes.get("text/html") ?? wishes.get("text/*") ?? wishes.get("*/*") ?? 0;
  const markdown = wishes.get("text/markdown") ?? 0;
  return markdown > 0 && markdown >= html;
}

/** A path without its first slash, percent-decoded; null where it is no text. */
function decoded(path) {
  try {
    return decodeURIComponent(path).replace(/^\/+/, "");
  } catch {
    return null;
  }
}

/** An address as it may stand in a header: what is escaped already stays so. */
function encoded(address) {
  return encodeURI(address).replaceAll("%25", "%");
}
