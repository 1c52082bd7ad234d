// node tests/spec/run.mjs: reads {"cases", "plan"} or {"plans", "asked"} from standard input, prints failures or answers as JSON.
import { fileURLToPath, pathToFileURL } from "node:url";
import path from "node:path";
import { answers, failures, twins } from "./runner.js";

const here = path.dirname(fileURLToPath(import.meta.url));
const functions = await twins(pathToFileURL(path.join(here, "../../static/js/plan")).href);
let text = "";
for await (const chunk of process.stdin) text += chunk;
const input = JSON.parse(text);
const result = input.cases ? failures(functions, input.cases, input.plan) : answers(functions, input.plans, input.asked);
process.stdout.write(JSON.stringify(result));
