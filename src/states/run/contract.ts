/** What the state runtime needs of its host, and what a state function is. Types only. */
import type { Value, ValueMap } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";

/** A state's result: `name`, `result`, `changes`, `comment` and what the runtime adds. */
export type StateResult = ValueMap;
/** Results by tag, `module_|-id_|-name_|-function`, in the order in which the states ran. */
export type Results = Map<string, StateResult>;
export type Called = { readonly value: Value; readonly retcode: number };

/** The machine on which states run. */
export type StateHost = {
  readonly grains: ValueMap;
  readonly pillar: ValueMap;
  /** Whether an execution function exists. */
  has(name: string): boolean;
  /** Calls an execution function. @throws whatever the function throws */
  call(name: string, args: readonly Value[], kwargs: ValueMap): Promise<Called>;
  /** The content of a `salt://` file; undefined if it does not exist. */
  read(source: string, saltenv: string): Promise<Uint8Array | undefined>;
  /** Renders a Jinja template with these variables. @throws an error with the fault */
  render(text: string, saltenv: string, variables: ValueMap): Promise<string>;
  exists(path: string): boolean;
  /** The id of a user or group by name; undefined for an unknown one. */
  ownerId(kind: "user" | "group", name: string): Promise<number | undefined>;
  /** Milliseconds since 1970 with their fraction. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Tells the master about a state that ran. `event`: `fire_event` of the state. */
  report(result: StateResult, total: number, event: Value): Promise<void>;
};

/** Requisites of the running chunk, by their name. */
export type Requirements = ReadonlyMap<string, readonly LowChunk[]>;

export type StateContext = {
  readonly host: StateHost;
  readonly low: LowChunk;
  readonly isTest: boolean;
  readonly saltenv: string;
  readonly running: Results;
  readonly requirements: Requirements;
};

/** `args` has all parameters, and with `takesMore` other arguments of the state. */
export type StateFunction = {
  /** Parameters and their defaults. Undefined: required. */
  readonly params: { readonly [name: string]: Value | undefined };
  readonly takesMore?: boolean;
  run(context: StateContext, args: ValueMap): StateResult | Promise<StateResult>;
};

/** By whole name, `test.nop`. `MODULE.mod_watch` runs when a watched state has changes. */
export type StateTable = { readonly [name: string]: StateFunction };
