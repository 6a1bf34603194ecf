/** The functions of `file` on the content of files. Source: Salt 3007's `file`, docs/functions.md. */

import { createHash, getHashes } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, signature } from "../declare/signature.ts";
import { asPython, expandedPath } from "../machine/file-paths.ts";

/** Bytes read at a time by functions that search or hash. */
const pieceBytes = 64 * 1024;

export const fileTextFunctions: ModuleFunctions = {
  "file.read": {
    ...signature("path, binary=False"),
    doc: describe("The content of a file.", "file.read /path/to/file"),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      return asPython(path, () => (isTrue(argument(args, "binary")) ? readFileSync(path) : readFileSync(path, "utf8")));
    },
  },
  "file.write": {
    ...signature("path, *args, **kwargs"),
    doc: describe(
      "Writes lines to a file and replaces its content.",
      "file.write /etc/motd 'first line' 'second line'",
    ),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      const lines = linesOf(args);
      asPython(path, () => writeFileSync(path, joined(lines)));
      return `Wrote ${lines.length} lines to "${path}"`;
    },
  },
  "file.append": {
    ...signature("path, *args, **kwargs"),
    doc: describe("Writes lines to the end of a file.", "file.append /etc/motd 'one more line' 'and another'"),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      const lines = linesOf(args);
      asPython(path, () => appendFileSync(path, `${endsInMiddle(path) ? "\n" : ""}${joined(lines)}`));
      return `Wrote ${lines.length} lines to "${path}"`;
    },
  },
  "file.prepend": {
    ...signature("path, *args, **kwargs"),
    doc: describe("Writes lines to the beginning of a file.", "file.prepend /etc/motd 'first line'"),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      const lines = linesOf(args);
      asPython(path, () => {
        const before = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
        writeFileSync(path, Buffer.concat([Buffer.from(joined(lines)), before]));
      });
      return `Prepended ${lines.length} lines to "${path}"`;
    },
  },
  "file.contains": {
    ...signature("path, text"),
    doc: describe(
      "Whether a file contains a text. Ignores blanks around the text.",
      "file.contains /etc/crontab 'mymaintenance.sh'",
    ),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      if (!existsSync(path) || statSync(path).isDirectory()) return false;
      return fileHolds(path, Buffer.from(strOf(argument(args, "text")).trim()));
    },
  },
  "file.get_hash": {
    ...signature("path, form='sha256', chunk_size=65536"),
    doc: describe("The hash of a file's content.", "file.get_hash /etc/shadow"),
    run: (_, args) => hashOf(expandedPath(argument(args, "path")), strOf(argument(args, "form"))),
  },
  "file.get_sum": {
    ...signature("path, form='sha256'"),
    doc: describe(
      "The hash of a file's content; a message if the file does not exist.",
      "file.get_sum /etc/passwd sha512",
    ),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      return existsSync(path) && statSync(path).isFile()
        ? hashOf(path, strOf(argument(args, "form")))
        : "File not found";
    },
  },
  "file.grep": {
    ...signature("path, pattern, *opts"),
    doc: describe(
      "What grep finds in files, with its exit code.",
      "file.grep /etc/passwd root",
      "file.grep /etc/sysconfig/network-scripts/ifcfg-eth0 ipaddr -- -i",
    ),
    run: (context, args) => grep(context, args),
  },
};

/** Lines to write: the positional arguments, or `args=` with one line or a list. */
function linesOf(args: BoundArguments): readonly string[] {
  const named = ownKeywords(args).get("args");
  const given = named === undefined ? args.rest : Array.isArray(named) ? named : [named];
  return given.map(strOf);
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** Whether the file's last line lacks a line end. */
function endsInMiddle(path: string): boolean {
  if (!existsSync(path)) return false;
  const { size } = statSync(path);
  if (size === 0) return false;
  const file = openSync(path, "r");
  try {
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, size - 1);
    return last.toString("latin1") !== "\n";
  } finally {
    closeSync(file);
  }
}

/** Whether the file contains the bytes. Searches each piece with the end of the piece before, to find a match across both. */
function fileHolds(path: string, wanted: Buffer): boolean {
  const file = openSync(path, "r");
  try {
    let kept: Buffer = Buffer.alloc(0);
    const piece = Buffer.alloc(pieceBytes);
    for (;;) {
      const count = readSync(file, piece);
      const text = Buffer.concat([kept, piece.subarray(0, count)]);
      if (text.includes(wanted)) return true;
      if (count === 0) return false;
      kept = Buffer.from(text.subarray(Math.max(0, text.length - wanted.length)));
    }
  } finally {
    closeSync(file);
  }
}

function hashOf(path: string, form: string): string {
  if (!getHashes().includes(form)) throw pythonException("ValueError", `Invalid hash type: ${form}`);
  const hash = createHash(form);
  return asPython(path, () => {
    const file = openSync(path, "r");
    try {
      const piece = Buffer.alloc(pieceBytes);
      for (let count = readSync(file, piece); count > 0; count = readSync(file, piece))
        hash.update(piece.subarray(0, count));
      return hash.digest("hex");
    } finally {
      closeSync(file);
    }
  });
}

/** @throws SaltworksError FUNCTION_FAILED if the module `cmd` is disabled */
async function grep(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const options = args.rest.map(strOf);
  const split = options.find((option) => /\s/.test(option));
  if (split !== undefined) {
    throw commandError(
      `Passing multiple command line arguments in a single string is not supported, please pass the following arguments separately: ${split}`,
    );
  }
  const command: Value[] = ["grep", ...options, strOf(argument(args, "pattern")), expandedPath(argument(args, "path"))];
  return await context.callFunction("cmd.run_all", [command], new Map([["python_shell", false]]));
}
