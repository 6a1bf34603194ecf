/**
 * The contract of external pillar sources (`ext_pillar`): a name, parameters, and a value that is merged over the pillar. A source that
 * runs a command names it in `command`, and one that asks a server does so in `ask`. Both run before the compilation, and `read` gets the
 * outcome. A slow command or server therefore does not block a rendering thread.
 */
import type { Item } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Minion } from "../input/minion.ts";
import type { PillarSettings } from "../input/settings.ts";
import type { CommandEnd, CommandFault, SourceCommand } from "./programs/run-program.ts";

/** Asks a server before the pillar is compiled. @returns what `read` gets as `reply` */
export type SourceQuestion = (limits: {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}) => Promise<Uint8Array>;

/** Whose pillar is made, and the options of servers, which hold secrets. `grains` are there only for a source that needs them. */
export type SourceAsked = {
  readonly id: string;
  readonly grains: ValueMap;
  /** The environments that the request names, with the defaults of the configuration. */
  readonly pillarenv?: string | undefined;
  readonly saltenv?: string | undefined;
  readonly option: (name: string) => unknown;
  /** Variables for programs. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that are left. At the deadline `signal` aborts, and the answer is not waited for any more. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

/** What a server answered, in the source's own form. */
export type ServerReply = { readonly reply: Uint8Array };
export type SourceOutcome = CommandEnd | ServerReply | CommandFault;

/** By the source's place in `ext_pillar`, in the form of `placeOf`. `seconds`: how long the command or the server took. */
export type SourceOutcomes = Readonly<Record<string, SourceOutcome & { readonly seconds?: number }>>;

/** One source of one pillar, for metrics. */
export type SourceRun = { readonly source: string; readonly isFailed: boolean; readonly seconds: number };

export type SourceContext = {
  readonly minion: Minion;
  readonly settings: PillarSettings;
  /** The values that are merged so far. */
  readonly pillar: ValueMap;
  /** The requested pillar environment. */
  readonly pillarenv: string | undefined;
  readonly saltenv: string | undefined;
  readonly roots: ReadonlyMap<string, readonly string[]>;
  /** The data that the minion's `pass_to_ext_pillars` names. */
  readonly extraData: ValueMap;
  readonly outcome: SourceOutcome | undefined;
  /** The server's answer. @throws SaltworksError PILLAR_FAILED if there is none */
  readonly reply: () => Uint8Array;
  /** Renders a text through the pipe that its first line names (`#!jinja|yaml`), else through `pipe.byDefault`. */
  readonly render: (path: string, text: string, pipe: TemplatePipe) => Value;
  /** Renders a file below `root` as Jinja alone. Unknown names are empty there, and templates reach only files below `root`. */
  readonly renderTree: (place: TreePlace, names: TemplateNames) => string;
  /** Compiles the top file of these directories for the minion, without external sources. Errors are in `_errors`. */
  readonly compile: (environment: string, directories: readonly string[]) => ValueMap;
  /** Writes to the master's log only. */
  readonly note: (fault: string) => void;
};

/** `path`: relative to `root`. `globals`: variables that imported templates have, too. */
export type TreePlace = { readonly root: string; readonly path: string; readonly globals: TemplateNames };
export type TemplateNames = readonly (readonly [name: string, value: Item])[];

export type TemplatePipe = {
  readonly byDefault: string;
  readonly blacklist: readonly string[];
  readonly whitelist: readonly string[];
};

/** Arguments by parameter. `rest`: further positional ones, where the source takes them. */
export type SourceArguments = ReadonlyMap<string, Value> & { readonly rest: readonly Value[] };

export type ExternalSource = {
  /** Names in order. Parameters after the first `requiredCount` are optional. */
  readonly parameters: readonly string[];
  readonly requiredCount: number;
  /** Whether the source takes further keywords (`**kwargs`), or further arguments of any kind (`*args, **kwargs`). */
  readonly takes?: "keywords" | "all";
  /** Whether minions may ask for it if `on_demand_ext_pillar` names it. */
  readonly isForMinions: boolean;
  /** The package that asks the server. It is optional, so the master's start looks for it. */
  readonly packageName?: string;
  /** Whether `ask` reads grains, which then cross to its thread. */
  readonly needsGrains?: true;
  /** `shell`: runs the command. @throws SaltworksError PILLAR_FAILED for arguments or an id that the source refuses */
  readonly command?: (args: SourceArguments, asked: Pick<SourceAsked, "id" | "option">, shell: string) => SourceCommand;
  /** Asks a server. @throws SaltworksError PILLAR_FAILED */
  readonly ask?: (args: SourceArguments, asked: SourceAsked) => Promise<Uint8Array>;
  /** @throws SaltworksError PILLAR_FAILED with the text for the pillar's `_errors` */
  readonly read: (context: SourceContext, args: SourceArguments) => Value;
};
