# The edge worker beside the files of a site, in workerd: `workerd serve workerd.capnp` from this folder, after
# `python build.py build --edge` at the top of the project.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "recipes", worker = .recipes),
    (name = "files", disk = (path = "../../dist")),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "recipes")],
);

const recipes :Workerd.Worker = (
  modules = [
    (name = "deploy/edge/workerd.js", esModule = embed "workerd.js"),
    (name = "deploy/edge/worker.js", esModule = embed "worker.js"),
    (name = "deploy/edge/answer.js", esModule = embed "answer.js"),
    (name = "deploy/edge/as-json.js", esModule = embed "as-json.js"),
    (name = "deploy/edge/as-markdown.js", esModule = embed "as-markdown.js"),
    (name = "static/js/view.js", esModule = embed "../../static/js/view.js"),
    (name = "static/js/fit.js", esModule = embed "../../static/js/fit.js"),
    (name = "static/js/plan/plan.js", esModule = embed "../../static/js/plan/plan.js"),
    (name = "static/js/plan/query.js", esModule = embed "../../static/js/plan/query.js"),
    (name = "static/js/plan/resolve.js", esModule = embed "../../static/js/plan/resolve.js"),
    (name = "static/js/plan/evaluate.js", esModule = embed "../../static/js/plan/evaluate.js"),
    (name = "static/js/plan/shell.js", esModule = embed "../../static/js/plan/shell.js"),
  ],
  compatibilityDate = "2025-01-01",
  bindings = [(name = "FILES", service = "files")],
);
