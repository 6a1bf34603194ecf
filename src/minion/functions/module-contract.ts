/**
 * What an execution function is, and what it may use while it runs: the interface between the minion and its `modules/`. Types only. Source: Salt's
 * execution-module interface (`__salt__`, `__grains__`, `__pillar__`, `__context__`, `__opts__`), with the behaviour in docs/functions.md.
 */
import type { MinionConfig } from "../../config/schema.ts";
import type { StateTable } from "../../states/run/contract.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** One named parameter, in Python's order. Without `default` it is required. */
export type Parameter = { readonly name: string; readonly default?: Value };

/** A function's signature: `sys.argspec` shows it, and arguments are bound to it. */
export type Signature = {
  readonly params: readonly Parameter[];
  /** Name of the `*args` parameter, if the function takes any number of positional arguments. */
  readonly varargs?: string;
  /** Name of the `**kwargs` parameter. A function that has one also gets `__pub_<field>` for each field of the publish. */
  readonly kwargs?: string;
};

/** Arguments after binding: `named` has every parameter of the signature, given or by default. */
export type BoundArguments = {
  readonly named: { readonly [name: string]: Value };
  /** The arguments for `*args`. */
  readonly rest: readonly Value[];
  /** The arguments for `**kwargs`, `__pub_*` included. */
  readonly extra: ValueMap;
};

export type ModuleFunction = Signature & {
  /**
   * Documentation, shown by `sys.doc` and below "Passed invalid arguments".
   * It has the form of a Python docstring: a line feed, then lines indented by four blanks.
   */
  readonly doc: string;
  /** The name in Python's messages, if it is not the last part of the function's name (`test.false` is `false_`). */
  readonly pythonName?: string;
  /** Outputter hint sent with every return of this function (`out`). */
  readonly outputter?: string;
  /**
   * Runs the function. It throws expected failures with the makers in errors.ts; any other exception counts as a bug of the
   * function and is reported as "The minion function caused an exception".
   */
  run(context: CallContext, args: BoundArguments): Encodable | Promise<Encodable>;
};

/** Keys are whole names: `test.ping`. */
export type ModuleTable = ReadonlyMap<string, ModuleFunction>;

/** Documentation of returners' functions, by whole name: `mysql.returner`. */
export type ReturnerDocs = ReadonlyMap<string, string>;

/** A running job: the publish load without its serial number, `pid` first, as `saltutil.running` shows it. */
export type RunningJob = ValueMap;

export type ModuleLog = {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
};

/** A function that templates may call. */
export type TemplateFunction = (args: readonly Value[], kwargs: ValueMap) => Promise<Value>;

/** What the program that starts the minion supplies: a template renderer and the names of runner functions. */
export type Extras = {
  /**
   * Renders Jinja. A template's variables come from `namesOf`, called for each rendering, and the functions in `salt` from `functionOf`.
   *
   * @throws PILLAR_FAILED
   */
  renderTemplate(
    text: string,
    namesOf: () => ValueMap,
    functionOf: (name: string) => TemplateFunction | undefined,
  ): Promise<string>;
  /** Renders an SLS file of states to its value. @throws PILLAR_FAILED with Salt's text for the fault */
  renderState(file: StateFile, surroundings: StateRendering): Promise<Value>;
  /** In an orchestration: its own states, functions of its templates, and how events reach the master's bus. */
  readonly orchestration?: {
    readonly states: StateTable;
    readonly functions: ReadonlyMap<string, TemplateFunction>;
    readonly fire: (tag: string, data: Encodable) => Promise<void>;
  };
  /** Whole names: `jobs.list_jobs`. */
  runnerFunctions(): Promise<readonly string[]>;
};

/** A file of the file server: its path below the root of its environment, and its path on this machine. */
export type ServedFile = { readonly path: string; readonly place: string; readonly text: string };
export type StateFile = ServedFile & { readonly sls: string };
/** `load` finds the templates that a file includes. `renderer` is the pipe of files that name none. */
export type StateRendering = {
  readonly namesOf: () => ValueMap;
  readonly functionOf: (name: string) => TemplateFunction | undefined;
  readonly load: (path: string) => Promise<ServedFile | undefined>;
  readonly renderer: string;
  readonly jinja: { readonly trimBlocks: boolean; readonly lstripBlocks: boolean };
  /** Renders the whole file in Python, where that is possible, for a renderer that is not built here. */
  readonly inPython?: () => Promise<Value>;
};

/** What one call sees of the minion. Valid until `run` settles. */
export type CallContext = {
  readonly config: MinionConfig;
  readonly functions: ModuleTable;
  /** The returners that can work on this minion. */
  returners(): ReturnerDocs;
  readonly extras?: Extras | undefined;
  readonly log: ModuleLog;
  readonly jid: string;
  /** The function's whole name as called. */
  readonly fun: string;
  /** The publish load without its serial number. `saltworks call` makes one as a master would send it. */
  readonly publish: ValueMap;
  grains(): ValueMap;
  /** The pillar in memory, which may be old. `compilePillar` makes a new one. */
  pillar(): ValueMap;
  /** Compiles the pillar anew, on the master or, in `call` without a master, here. The one in memory stays. @throws MASTER_UNREACHABLE */
  compilePillar(options?: PillarOptions): Promise<ValueMap>;
  /** Sets the job's retcode (Salt's `__context__["retcode"]`). The last call counts. */
  setRetcode(retcode: number): void;
  /** Calls another function in this same job. Throws its argument errors and failures. @throws FUNCTION_UNKNOWN */
  callFunction(name: string, args?: readonly Value[], kwargs?: ValueMap): Promise<Encodable>;
  /** As `callFunction`, for a function that sees `inner` instead of this context. */
  runIn(inner: CallContext, name: string, args: readonly Value[], kwargs: ValueMap): Promise<Encodable>;
  /** Sends an event to the master. @returns whether the master accepted it */
  fireMaster(tag: string, data: Encodable): Promise<boolean>;
  /** Fires on the minion's own bus. The minion acts on `pillar_refresh`, `grains_refresh` and `module_refresh`. */
  fireMinion(tag: string, data: Encodable): Promise<void>;
  /** Changes the grains in the minion's memory. The grains file is the caller's. */
  setGrains(change: GrainsChange): Promise<void>;
  /**
   * Sends one encrypted request to the master, e.g. `{cmd: "_mine_get", ...}`; adds id, nonce and token.
   *
   * @throws MASTER_UNREACHABLE without a master
   */
  masterRequest(load: { readonly [key: string]: Encodable }): Promise<Value>;
  /** Jobs of this minion that run now, without this one. */
  runningJobs(): Promise<RunningJob[]>;
  /** Sends `signal` to a running job's process. @returns Salt's text, empty when no such job runs */
  signalJob(jid: string, signal: number): Promise<string>;
};

export type GrainsChange = { readonly set: ValueMap; readonly removed: readonly Value[] };

export type PillarOptions = {
  readonly override?: Encodable;
  readonly saltenv?: string;
  readonly pillarenv?: string;
};
