/** What a scenario is: a question, its parameters with their meaning, and the run that answers it with points. */
import type { ParameterValues, Point } from "../results/schema.ts";
import type { MasterUnderTest } from "./setup/master-contract.ts";

export type Phase = { step(count?: number): void; end(): void };
export type Progress = { phase(name: string, total?: number): Phase };

export const noProgress: Progress = { phase: () => ({ step() {}, end() {} }) };

export type ScenarioContext<P extends ParameterValues> = {
  readonly master: MasterUnderTest;
  readonly parameters: P;
  readonly progress: Progress;
  readonly signal: AbortSignal;
};

export type Scenario<P extends ParameterValues> = {
  /** Kebab case: what the command line calls it. */
  readonly name: string;
  /** Raised whenever a result would no longer compare with earlier ones. */
  readonly version: number;
  readonly question: string;
  readonly defaults: P;
  readonly about: Readonly<Record<keyof P, string>>;
  /** Refuses what this machine cannot do, before anything is started. @throws SaltworksError */
  demand?(parameters: P): void;
  /** Master configuration that the question needs; what the caller gives wins. */
  masterConfig?(parameters: P): Record<string, unknown>;
  run(context: ScenarioContext<P>): Promise<Point[]>;
};

/** Keeps a scenario's own parameter types while it is written. */
export function defineScenario<P extends ParameterValues>(scenario: Scenario<P>): Scenario<P> {
  return scenario;
}
