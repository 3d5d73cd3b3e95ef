// Makes a component of a module in JavaScript: node componentize.mjs MAIN WIT OUTPUT.
import { writeFileSync } from "node:fs";
import { componentize } from "@bytecodealliance/componentize-js";

const [sourcePath, witPath, output] = process.argv.slice(2);
const { component } = await componentize({ sourcePath, witPath, worldName: "module", disableFeatures: ["http", "fetch-event"] });
writeFileSync(output, component);
