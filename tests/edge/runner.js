// What the edge worker answers to requests, from sheets that are given as text.

/** [[address, headers]] to [[status, {header: value}, body]]. `files` holds the texts of the site's files by name. */
export async function answered(worker, files, requests) {
  const found = [];
  const ASSETS = { fetch: async (request) => fileOf(files, request) };
  for (const [address, headers = {}, method = "GET"] of requests) {
    const response = await worker.fetch(new Request(`https://example.org${address}`, { headers, method }), { ASSETS });
    found.push([response.status, Object.fromEntries(response.headers), await response.text()]);
  }
  return found;
}

function fileOf(files, request) {
  const text = files[decodeURIComponent(new URL(request.url).pathname.slice(1))];
  if (text === undefined) return new Response("no such file", { status: 404 });
  return new Response(text, { headers: { "content-type": "application/json" } });
}
