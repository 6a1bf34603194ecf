/**
 * What an external source of pillar is (`ext_pillar`): a name in the configuration, its parameters, and a value that is merged over the
 * pillar so far. A source that has to wait for something tells beforehand what to run; its value is then read from the outcome while the
 * pillar is compiled. So a slow source holds no rendering thread.
 */
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Minion } from "../input/minion.ts";
import type { PillarSettings } from "../input/settings.ts";

/** A program to run before the pillar is compiled. Words of the configuration, with the minion's id where they ask for it. */
export type SourceCommand = { readonly argv: readonly [string, ...string[]] };

/** How a command came to its end. `complaint`: what it wrote to stderr, shortened, for the master's log alone. */
export type CommandEnd = { readonly stdout: string; readonly exitCode: number; readonly complaint: string };
/** `isFatal`: never passed over, whatever `ext_pillar_failures` says. */
export type CommandFault = { readonly fault: string; readonly isFatal: boolean };
export type CommandOutcome = CommandEnd | CommandFault;

/** By the place of the source in `ext_pillar`, as `placeOf` names it. */
export type SourceOutcomes = Readonly<Record<string, CommandOutcome>>;

export type SourceContext = {
  readonly minion: Minion;
  readonly settings: PillarSettings;
  /** The environment of pillars that is asked for. */
  readonly pillarenv: string | undefined;
  readonly roots: ReadonlyMap<string, readonly string[]>;
  /** What the minion's `pass_to_ext_pillars` names, as the minion sent it. */
  readonly extraData: ValueMap;
  readonly outcome: CommandOutcome | undefined;
  /** A text as a template, through this pipe of renderers (`jinja`, `jinja|yaml`) or the one that its first line names. */
  readonly render: (path: string, text: string, pipe: TemplatePipe) => Value;
  /** For the master's log; the minion does not see it. */
  readonly note: (fault: string) => void;
};

export type TemplatePipe = {
  readonly byDefault: string;
  readonly blacklist: readonly string[];
  readonly whitelist: readonly string[];
};

export type SourceArguments = ReadonlyMap<string, Value>;

export type ExternalSource = {
  /** In order; those after `requiredCount` may be left out. */
  readonly parameters: readonly string[];
  readonly requiredCount: number;
  /** Whether minions may ask for it themselves where `on_demand_ext_pillar` names it. */
  readonly isForMinions: boolean;
  /** `shell`: the one for commands. @throws SaltworksError PILLAR_FAILED for arguments or an id that it does not take */
  readonly command?: (args: SourceArguments, id: string, shell: string) => SourceCommand;
  /** @throws SaltworksError PILLAR_FAILED with what the pillar's `_errors` shall say */
  readonly read: (context: SourceContext, args: SourceArguments) => Value;
};
