// Clients of modbox mcp, by the SDK of npm. Each lists the tools and calls some.
//
// Prints one JSON object per client. The SDK checks each answer against the schema of its tool, and throws if one does not fit.
//
// usage: npm_client.mjs PACKAGES CLIENTS COMMAND...
// PACKAGES is the folder with `node_modules`. CLIENTS is a list of objects as JSON: `answer` is what a person says to questions: yes,
// no, cancel, or none for a client that cannot ask; `calls` is a list of [tool, arguments]; `directory` is where the server starts.
import { createRequire } from "node:module";

const [packages, clients, ...command] = process.argv.slice(2);
const { resolve } = createRequire(`${packages}/`);
const sdk = (name) => import(resolve(`@modelcontextprotocol/sdk/${name}.js`));
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");
const { ElicitRequestSchema } = await sdk("types");

const ANSWERS = {
  yes: { action: "accept", content: { decision: "apply" } },
  no: { action: "accept", content: { decision: "discard" } },
  cancel: { action: "cancel" },
};

async function talk({ answer, calls, directory }) {
  const questions = [];
  const capabilities = answer in ANSWERS ? { elicitation: {} } : {};
  const client = new Client({ name: "npm", version: "1" }, { capabilities });
  if (answer in ANSWERS) {
    client.setRequestHandler(ElicitRequestSchema, async (request) => {
      questions.push(request.params.message);
      return ANSWERS[answer];
    });
  }
  const env = { HOME: `${directory}/home`, TMPDIR: `${directory}/tmp`, XDG_STATE_HOME: `${directory}/home/state` };
  env.XDG_CACHE_HOME = process.env.XDG_CACHE_HOME;
  await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), env, cwd: directory }));
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const answers = [];
  for (const [name, args] of calls) {
    try {
      const given = await client.callTool({ name, arguments: args });
      answers.push({ error: given.isError === true, structure: given.structuredContent });
    } catch (error) {
      answers.push({ code: error.code });
    }
  }
  await client.close();
  return { tools, answers, questions };
}

for (const client of JSON.parse(clients)) {
  console.log(JSON.stringify(await talk(client)));
}
