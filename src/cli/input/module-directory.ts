/**
 * Loads an operator's own execution modules for one call (`-m`): a function that `NAME.mjs` or `NAME.js` exports is `NAME.function`.
 * The function gets the positional arguments and then, if there are keywords, one object with them. Its property `doc` documents it.
 */
import { readdirSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import type { ModuleFunction, ModuleTable } from "../../minion/functions/module-contract.ts";
import { type Encodable, objectsOf } from "../../wire/values.ts";

const extensions: readonly string[] = [".mjs", ".js"];

/** Logs the names of Python modules, which cannot run here. @throws SaltworksError USAGE for a directory or module that cannot be read */
export async function loadModuleDirectories(directories: readonly string[], log: Logger): Promise<ModuleTable> {
  const table = new Map<string, ModuleFunction>();
  for (const directory of directories) {
    const names = listed(directory);
    const foreign = names.filter((name) => name.endsWith(".py") && !name.startsWith("_"));
    if (foreign.length > 0) log.warn(`${directory}: modules in Python cannot run here: ${foreign.join(", ")}`);
    for (const name of names.filter((one) => extensions.includes(extname(one)))) {
      for (const [fun, definition] of await functionsOf(join(directory, name))) {
        table.set(`${name.slice(0, -extname(name).length)}.${fun}`, definition);
      }
    }
  }
  return table;
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (cause) {
    throw new SaltworksError("USAGE", `--module-dirs: ${(cause as Error).message}`, { directory }, { cause });
  }
}

async function functionsOf(file: string): Promise<[string, ModuleFunction][]> {
  let exported: { readonly [name: string]: unknown };
  try {
    exported = (await import(pathToFileURL(resolve(file)).href)) as { readonly [name: string]: unknown };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SaltworksError("USAGE", `--module-dirs: ${file} cannot be loaded: ${why}`, { file }, { cause });
  }
  return Object.entries(exported).flatMap(([name, value]) =>
    typeof value === "function" && name !== "default" ? [[name, wrapped(value as Callable)]] : [],
  );
}

type Callable = ((...args: unknown[]) => Encodable | Promise<Encodable>) & { readonly doc?: unknown };

function wrapped(callable: Callable): ModuleFunction {
  return {
    params: [],
    varargs: "args",
    kwargs: "kwargs",
    doc: typeof callable.doc === "string" ? `\n    ${callable.doc}\n    ` : "",
    run: (_, { rest, extra }) => {
      const keywords = [...extra].filter(([name]) => !String(name).startsWith("__"));
      return callable(...rest.map(objectsOf), ...(keywords.length > 0 ? [objectsOf(new Map(keywords))] : []));
    },
  };
}
