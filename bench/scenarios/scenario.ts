/** What a scenario is: a question, its parameters with their meaning, and the run that answers it with points. */
import type { StormHost } from "../fleet/storm/host.ts";
import type { ParameterValues, Point } from "../results/schema.ts";
import type { MasterUnderTest } from "./setup/master-contract.ts";

export type Phase = { step(count?: number): void; end(): void };
/** `note`: shows a line where there is a terminal. */
export type Progress = { phase(name: string, total?: number): Phase; note?(text: string): void };

export const noProgress: Progress = { phase: () => ({ step() {}, end() {} }) };

export type ScenarioContext<P extends ParameterValues> = {
  readonly master: MasterUnderTest;
  readonly parameters: P;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Hosts of the load's processes; undefined: this one. */
  readonly agents?: readonly StormHost[];
};

export type Scenario<P extends ParameterValues> = {
  /** The name on the command line, in kebab case. */
  readonly name: string;
  /** Raised when results can no longer be compared with earlier ones. */
  readonly version: number;
  readonly question: string;
  /** The text of the file that it was read from, which the result keeps. */
  readonly source?: string;
  readonly defaults: P;
  readonly about: Readonly<Record<keyof P, string>>;
  /** Why the scenario cannot run against a master that runs already; unset if it can. */
  readonly ownMaster?: string;
  /** Refuses, before anything starts, a run that this machine cannot do, with a master on `masterHost`. @throws SaltworksError */
  demand?(parameters: P, masterHost: string): void;
  /** Makes what masters find at their start, once for all masters of the run. */
  prepare?(parameters: P): void | Promise<void>;
  /** Master configuration that the question needs; the caller's configuration overrides it. */
  masterConfig?(parameters: P): Record<string, unknown>;
  run(context: ScenarioContext<P>): Promise<Point[]>;
};

/** Preserves the types of a scenario's own parameters. */
export function defineScenario<P extends ParameterValues>(scenario: Scenario<P>): Scenario<P> {
  return scenario;
}
