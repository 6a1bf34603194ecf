/**
 * The contract of external pillar sources (`ext_pillar`): a name, parameters, and a value that is merged over the pillar. A source that
 * runs a command names it in `command`; the command runs before the compilation, and `read` gets its outcome. A slow command therefore does
 * not block a rendering thread.
 */
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Minion } from "../input/minion.ts";
import type { PillarSettings } from "../input/settings.ts";

/** A program to run before the pillar is compiled: the configured words, with the minion's id in place of `%s`. */
export type SourceCommand = { readonly argv: readonly [string, ...string[]] };

/** How a command ended. `complaint`: its shortened stderr, for the master's log only. */
export type CommandEnd = { readonly stdout: string; readonly exitCode: number; readonly complaint: string };
/** `isFatal`: `ext_pillar_failures: ignore` does not hide the fault. */
export type CommandFault = { readonly fault: string; readonly isFatal: boolean };
export type CommandOutcome = CommandEnd | CommandFault;

/** By the source's place in `ext_pillar`, in the form of `placeOf`. */
export type SourceOutcomes = Readonly<Record<string, CommandOutcome>>;

export type SourceContext = {
  readonly minion: Minion;
  readonly settings: PillarSettings;
  /** The requested pillar environment. */
  readonly pillarenv: string | undefined;
  readonly roots: ReadonlyMap<string, readonly string[]>;
  /** The data that the minion's `pass_to_ext_pillars` names. */
  readonly extraData: ValueMap;
  readonly outcome: CommandOutcome | undefined;
  /** Renders a text through the pipe that its first line names (`#!jinja|yaml`), else through `pipe.byDefault`. */
  readonly render: (path: string, text: string, pipe: TemplatePipe) => Value;
  /** Writes to the master's log only. */
  readonly note: (fault: string) => void;
};

export type TemplatePipe = {
  readonly byDefault: string;
  readonly blacklist: readonly string[];
  readonly whitelist: readonly string[];
};

export type SourceArguments = ReadonlyMap<string, Value>;

export type ExternalSource = {
  /** Names in order. Parameters after the first `requiredCount` are optional. */
  readonly parameters: readonly string[];
  readonly requiredCount: number;
  /** Whether minions may ask for it if `on_demand_ext_pillar` names it. */
  readonly isForMinions: boolean;
  /** `shell`: runs the command. @throws SaltworksError PILLAR_FAILED for arguments or an id that the source refuses */
  readonly command?: (args: SourceArguments, id: string, shell: string) => SourceCommand;
  /** @throws SaltworksError PILLAR_FAILED with the text for the pillar's `_errors` */
  readonly read: (context: SourceContext, args: SourceArguments) => Value;
};
