// node tests/edge/run.mjs: reads {"files", "requests"} from standard input, prints the answers of the edge worker as JSON.
import worker from "../../deploy/edge/worker.js";
import { answered } from "./runner.js";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { files, requests } = JSON.parse(text);
process.stdout.write(JSON.stringify(await answered(worker, files, requests)));
