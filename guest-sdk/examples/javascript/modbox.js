// Helper for modules in JavaScript: arguments, check mode, files and result. Copy this file next to `main.js`, which
// exports the function that the component calls:
//
//     import { command } from "./modbox.js";
//     export const run = command((module) => ({ changed: false, greeting: `hello ${module.args.name}` }));

import { getArguments } from "wasi:cli/environment@0.2.12";
import { getStdout } from "wasi:cli/stdout@0.2.12";
import { getDirectories } from "wasi:filesystem/preopens@0.2.12";

// The most bytes that one call of WASI reads or writes.
const CHUNK = 4096;

// Ends the module with a failed result: a message, and further entries.
export class Failure extends Error {
  constructor(msg, entries = {}) {
    super(msg);
    this.entries = entries;
  }
}

// Returns the innermost granted folder that contains a path, and the path below it.
function locate(path) {
  let best = null;
  for (const [folder, name] of getDirectories()) {
    const inside = name.endsWith("/") ? name : `${name}/`;
    const rest = path === name ? "." : path.startsWith(inside) ? path.slice(inside.length) : null;
    if (rest !== null && (best === null || name.length > best.name.length)) {
      best = { folder, name, rest };
    }
  }
  if (best === null) {
    throw new Failure(`failed to open ${path}: it is not granted`);
  }
  return best;
}

// Returns WASI's code for an error, such as `no-entry`.
function code(error) {
  return error.payload ?? error.message;
}

// Returns the contents of a file as text, or null if it does not exist.
export function readText(path) {
  const { folder, rest } = locate(path);
  let file;
  try {
    file = folder.openAt({ symlinkFollow: true }, rest, {}, { read: true });
  } catch (error) {
    if (code(error) === "no-entry") {
      return null;
    }
    throw new Failure(`failed to read ${path}: ${code(error)}`);
  }
  const parts = [];
  let offset = 0n;
  for (;;) {
    let part, end;
    try {
      [part, end] = file.read(1n << 16n, offset);
    } catch (error) {
      throw new Failure(`failed to read ${path}: ${code(error)}`);
    }
    parts.push(part);
    offset += BigInt(part.length);
    if (end || part.length === 0) {
      break;
    }
  }
  const bytes = new Uint8Array(Number(offset));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return new TextDecoder().decode(bytes);
}

// Writes a text to a file.
export function writeText(path, text) {
  const { folder, rest } = locate(path);
  const bytes = new TextEncoder().encode(text);
  try {
    const file = folder.openAt({ symlinkFollow: true }, rest, { create: true }, { write: true });
    let offset = 0;
    while (offset < bytes.length) {
      offset += Number(file.write(bytes.subarray(offset), BigInt(offset)));
    }
    file.setSize(BigInt(bytes.length));
  } catch (error) {
    throw new Failure(`failed to write ${path}: ${code(error)}`);
  }
}

// Returns whether a path is a folder.
export function isFolder(path) {
  const { folder, rest } = locate(path);
  try {
    return folder.statAt({ symlinkFollow: true }, rest).type === "directory";
  } catch {
    return false;
  }
}

function print(result) {
  const out = getStdout();
  const bytes = new TextEncoder().encode(`${JSON.stringify(result)}\n`);
  for (let at = 0; at < bytes.length; at += CHUNK) {
    out.blockingWriteAndFlush(bytes.subarray(at, at + CHUNK));
  }
}

// The current run.
class Module {
  constructor(given) {
    // Ansible's internal arguments begin with `_ansible_`.
    this.args = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith("_ansible_")));
    this.checkMode = given._ansible_check_mode === true;
    this.diff = given._ansible_diff === true;
  }

  // Returns a required argument as text.
  text(name) {
    const value = this.args[name] ?? null;
    if (value === null) {
      throw new Failure(`missing required arguments: ${name}`);
    }
    return String(value);
  }

  // Returns a whole number, or null. Numbers from KEY=VALUE arrive as text.
  number(name) {
    const value = this.args[name] ?? null;
    if (value !== null && !/^\s*[+-]?\d+\s*$/.test(String(value))) {
      throw new Failure(`argument '${name}' is not a whole number: ${value}`);
    }
    return value === null ? null : Number(value);
  }

  // Returns whether an argument is true.
  flag(name) {
    return ["true", "yes", "on", "1"].includes(String(this.args[name]).toLowerCase());
  }
}

// Returns the object that the component exports. Its function reads the arguments, calls the module's function, and
// always prints a result.
export function command(main) {
  return {
    run() {
      let result;
      try {
        const given = getArguments();
        if (given.length !== 2) {
          throw new Failure("a module takes one argument, the path of a JSON file with its arguments");
        }
        result = main(new Module(JSON.parse(readText(given[1]))));
      } catch (error) {
        result = { failed: true, msg: error instanceof Failure ? error.message : String(error), ...error.entries };
      }
      print(result);
    },
  };
}
