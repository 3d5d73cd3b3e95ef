// Returns a greeting, and writes it to the file `path` if that is given.

import { Failure, command, isFolder, readText, writeText } from "./modbox.js";

export const run = command((module) => {
  const greeting = `hello ${module.text("name")}${module.flag("loud") ? "!" : ""}`;
  const result = { changed: false, greeting, n: module.number("n") };
  const path = module.args.path ?? null;
  if (path !== null) {
    if (isFolder(path)) {
      throw new Failure(`${path} is a folder`);
    }
    result.changed = readText(path) !== `${greeting}\n`;
    if (result.changed && !module.checkMode) {
      writeText(path, `${greeting}\n`);
    }
  }
  if (module.checkMode) {
    result.check = true;
  }
  return result;
});
