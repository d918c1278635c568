// Gives an agent a task, lets it change files, refuses commands, and answers its questions: node example.js TASK
import { Client } from "@attractor/client";

const client = new Client(process.env.ATTRACTOR_URL ?? "", process.env.ATTRACTOR_TOKEN ?? "");
const session = await client.create({ budget_usd: 2 });

const end = await session.run(process.argv[2] ?? "Fix the failing test.", {
  approve: (ask) => {
    if (ask.access.command === undefined) {
      console.log("[approved]", ask.tool, ...(ask.access.paths ?? []));
      return true;
    }
    console.log("[refused]", ask.access.command);
    return "No commands here: leave running the tests to me.";
  },
  answer: (ask) => ask.options?.[0] ?? "as you like",
  onEvent: (event) => {
    if (event.kind === "ASSISTANT_TEXT_END") console.log(event.text);
  },
});

console.log(`${end.reason}, for $${Number(end.cost_usd).toFixed(4)}`);
console.log(await session.diff());
