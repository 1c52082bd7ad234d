// The worker with the files of a folder, for workerd, whose disk service knows neither media types nor index files.
import worker from "./worker.js";

const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  sh: "text/x-shellscript; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  webmanifest: "application/manifest+json",
  xml: "application/xml",
  yaml: "application/yaml; charset=utf-8",
};

export default {
  fetch(request, env) {
    return worker.fetch(request, { ...env, ASSETS: { fetch: (asked) => file(asked, env.FILES) } });
  },
};

async function file(request, files) {
  const { pathname } = new URL(request.url);
  // A page is the index of its folder; names of models have dots, so a name alone does not tell a file.
  for (const name of pathname.endsWith("/") ? [`${pathname}index.html`] : [pathname, `${pathname}/index.html`]) {
    const found = await files.fetch(new Request(new URL(name, request.url)));
    const folder = (found.headers.get("content-type") ?? "").includes("json") && !name.endsWith("json");
    if (found.ok && !folder) return typed(found, name, 200);
  }
  return typed(await files.fetch(new Request(new URL("/404.html", request.url))), "404.html", 404);
}

function typed(found, name, status) {
  const headers = new Headers(found.headers);
  headers.set("content-type", TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream");
  return new Response(found.body, { status, headers });
}
