/** The type of a module's table of functions, and the names of all modules. */
import type { ModuleFunction } from "../../functions/module-contract.ts";

/** Functions of one module by whole name, `test.ping`. */
export type ModuleFunctions = { readonly [name: string]: ModuleFunction };

/** Every module of this program, loaded or disabled. A test compares the list with the registry. */
export const moduleNames = [
  "cmd",
  "config",
  "cp",
  "data",
  "disk",
  "event",
  "file",
  "grains",
  "hosts",
  "key",
  "match",
  "mine",
  "minion",
  "network",
  "pillar",
  "publish",
  "saltutil",
  "schedule",
  "service",
  "state",
  "status",
  "sys",
  "test",
  "user",
] as const;
