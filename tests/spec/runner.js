// Runs the cases of tests/spec on the twins; used by node (run.mjs) and by the browser test.

/** The functions that cases call, under the names that Python has for them. */
export async function twins(base) {
  const modules = await Promise.all(
    ["plan", "query", "resolve", "evaluate", "shell"].map((name) => import(`${base}/${name}.js`)),
  );
  return Object.assign({}, ...modules);
}

/** The failing cases, each with what came out. `cases` is {file: [case]}; "plan" as an argument stands for `plan`. */
export function failures(functions, cases, plan) {
  const failed = [];
  for (const [file, list] of Object.entries(cases)) {
    for (const entry of list) {
      const call = functions[camel(entry.call)];
      const given = entry.arguments.map((value) => (value === "plan" ? plan : value));
      let result;
      try {
        result = call(...given);
      } catch (error) {
        result = `threw ${error}`;
      }
      // As text, so that the order of keys counts: variables are written in it.
      if (JSON.stringify(result) !== JSON.stringify(entry.expect)) failed.push({ file, name: entry.name, result });
    }
  }
  return failed;
}

/**
 * For each {plan, query, choice}: what a query string settles on and gives, and what has to be asked for a choice
 * [axis, value] after it, for comparison with Python. Plans go by their id.
 */
export function answers(functions, plans, asked) {
  return asked.map(({ plan: id, query, choice }) => {
    const plan = plans[id];
    const [parameters, notes] = functions.splitQuery(query);
    const parsed = functions.parseQuery(plan, parameters);
    const settled = functions.resolve(plan, { asked: parsed.asked, notes: [...notes, ...parsed.notes] });
    const commands = functions.evaluate(plan, settled.selection);
    const facts = functions.factsOf(plan, settled.selection);
    const again = functions.askedOf(plan, settled.selection);
    return {
      ...settled,
      canonical: functions.canonical(plan, settled.selection),
      configuration: functions.configuration(plan, settled.selection),
      facts,
      commands,
      texts: commands.map((command) => functions.shellText(command)),
      exports: commands.map((command) => functions.exportText(command.env)),
      docker: commands.map((command) => functions.dockerText(command, facts)),
      offers: plan.axes.map((axis) => functions.onOffer(axis, settled.selection)),
      asked: again,
      picked: functions.pick(plan, again, choice),
    };
  });
}

function camel(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}
