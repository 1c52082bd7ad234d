// Commands as text for a shell. Twin of site_builder/shell.py.

/** Safe characters, and whole variables among them, stand bare. A leading `~` is left for the shell to expand. */
const BARE = /^(?:~(?=\/))?(?:[A-Za-z0-9_./=:@,+%-]|\$[A-Za-z_][A-Za-z0-9_]*)+$/;

/** A word as a shell must read it to get it back. */
export function quote(text) {
  if (BARE.test(text)) return text;
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

/** The command alone, one flag a line; content's own text is kept as written. */
export function shellText(command) {
  if (command.text !== null) return command.text.replace(/\n+$/, "");
  return written(command.lines, command.indent);
}

/** The environment as `export` lines. A variable that would be set to itself is left to the reader to fill. */
export function exportText(env) {
  return Object.entries(env)
    .filter(([name, value]) => value !== `$${name}`)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join("\n");
}

/** `docker run` for a command as lines of words; null where there is no image or no known way to pass the device. */
export function dockerLines(command, facts) {
  if (command.text !== null || !facts.image || !facts.docker) return null;
  const [start, ...flags] = command.lines;
  const entry = facts.entry;
  const network =
    facts.deploy_type !== "single_node" ? ["--network", "host"] : ["-p", `${command.port}:${command.port}`];
  const lines = [["docker", "run", ...facts.docker[0]], ...facts.docker.slice(1)];
  lines.push(["--privileged", "--ipc=host", ...network]);
  lines.push(["-v", "~/.cache/huggingface:/root/.cache/huggingface"]);
  for (const path of mounts(command, String(facts.model))) lines.push(["-v", `${path}:${path}:ro`]);
  if (facts.gated) lines.push(["-e", "HF_TOKEN"]);
  for (const [name, value] of Object.entries(command.env)) lines.push(["-e", `${name}=${value}`]);
  if (entry.every((word, index) => start[index] === word)) lines.push([facts.image, ...start.slice(entry.length)]);
  else lines.push(["--entrypoint", start[0]], [facts.image, ...start.slice(1)]);
  return [...lines, ...flags];
}

/** `docker run` as text, one thing a line. */
export function dockerText(command, facts) {
  const lines = dockerLines(command, facts);
  return lines && written(lines, 2);
}

/** Paths of this machine that the container reads: a local checkpoint, and files that a variable names. */
function mounts(command, model) {
  const local = model.startsWith("/") ? [model] : [];
  const named = Object.entries(command.env).filter(([name]) => name.endsWith("_CONFIG_PATH"));
  return [...local, ...named.map(([, value]) => value)];
}

/** Lines of words as one command that goes on from line to line. */
export function written(lines, indent) {
  return lines.map((line) => line.map(quote).join(" ")).join(` \\\n${" ".repeat(indent)}`);
}
