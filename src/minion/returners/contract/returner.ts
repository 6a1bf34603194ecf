/**
 * What a returner is: passes one job's return on to a file, a service or a database. Types only.
 * Source: Salt 3007's returners (`returner(ret)`), with the table in docs/returners.md.
 */
import type { MinionConfig } from "../../../config/schema.ts";
import type { ValueMap } from "../../../wire/values.ts";
import type { Extras, ModuleLog } from "../../functions/module-contract.ts";
import type { ReturnerSettings } from "./settings.ts";

/** A client library that is installed beside this program only where a returner uses it. */
export type Library = {
  /** What the code imports: `mysql2/promise`. */
  readonly specifier: string;
  /** What an operator installs: `mysql2@3`. */
  readonly install: string;
};

/** One return on its way. */
export type Passing = {
  /** The return as Salt's returners get it. This returner's own copy. */
  readonly ret: ValueMap;
  readonly config: MinionConfig;
  readonly settings: ReturnerSettings;
  readonly log: ModuleLog;
  readonly extras: Extras | undefined;
  /** Aborted at the returner's deadline. */
  readonly signal: AbortSignal;
  readonly grains: ValueMap;
  /** Shows a line to the operator, or logs it where there is no terminal. */
  print(line: string): void;
  /** Imports a library of `libraries`. */
  load<Module>(library: Library): Promise<Module>;
  /** Passes the same return to another returner. @throws SaltworksError RETURNER_UNAVAILABLE, RETURNER_FAILED */
  passTo(name: string): Promise<void>;
};

export type Returner = {
  /** Salt's name, which `--return` takes. */
  readonly name: string;
  /** Further names under which Salt finds it. */
  readonly aliases?: readonly string[];
  /** Documentation in the form of a Python docstring: `sys.returner_doc` shows it. */
  readonly doc: string;
  readonly libraries?: readonly Library[];
  /** Why this returner cannot work on this machine; undefined if it can. */
  readonly refusal?: () => string | undefined;
  /** Resolves when the destination has taken the return. Any error is a failure, which the caller reports. */
  returner(passing: Passing): Promise<void>;
};

/** Returners by name and alias. */
export type ReturnerTable = ReadonlyMap<string, Returner>;
