/** The fleet as its page shows it: every minion with its key's state and whether it is connected. */

export type KeyList = {
  readonly minions: readonly string[];
  readonly minions_pre: readonly string[];
  readonly minions_rejected: readonly string[];
  readonly minions_denied: readonly string[];
};
export const keyStates = ["waiting", "accepted", "rejected", "denied"] as const;
export type KeyState = (typeof keyStates)[number];
export type KeyRow = { readonly id: string; readonly state: KeyState };
export type MinionRow = { readonly id: string; readonly isConnected: boolean };

/** The rows of accepted minions; silent ones first, because they need a look. */
export function fleetRows(keys: KeyList, connected: readonly string[]): MinionRow[] {
  const here = new Set(connected);
  const ids = [...keys.minions].sort();
  const rows = (isConnected: boolean) => {
    return ids.filter((id) => here.has(id) === isConnected).map((id) => ({ id, isConnected }));
  };
  return [...rows(false), ...rows(true)];
}

/** Every key; waiting ones first. */
export function keyRows(keys: KeyList): KeyRow[] {
  const idsOf: Readonly<Record<KeyState, readonly string[]>> = {
    waiting: keys.minions_pre,
    accepted: keys.minions,
    rejected: keys.minions_rejected,
    denied: keys.minions_denied,
  };
  return keyStates.flatMap((state) => [...idsOf[state]].sort().map((id) => ({ id, state })));
}

type Shown = { readonly count: number; readonly first?: unknown };
/** The reply of wheel `saltworks.explain_target`. */
export type Explained = {
  readonly target: string | readonly string[];
  readonly fault?: string;
  readonly matched: number;
  readonly connected: Shown;
  readonly not_connected: Shown;
  readonly unknown?: Shown;
  readonly terms?: Shown;
  readonly without_grains_or_pillar?: Shown;
};
type ExplainedLine = { readonly name: string; readonly text: string };

/** The terms of a compound target, each with the minions that it matches by itself. */
export function termLines({ terms }: Explained): ExplainedLine[] {
  return linesOf(terms).map(({ name, text }) => ({
    name,
    text: /^\d+$/.test(text) ? minionsText(Number(text)) : text,
  }));
}

export function unknownLines({ unknown }: Explained): ExplainedLine[] {
  return linesOf(unknown);
}

export function silentLines({ not_connected: silent }: Explained): ExplainedLine[] {
  return linesOf(silent);
}

function linesOf(shown: Shown | undefined): ExplainedLine[] {
  const { first } = shown ?? {};
  if (typeof first !== "object" || first === null) return [];
  return Object.entries(first).map(([name, text]) => ({ name, text: String(text) }));
}

function minionsText(matched: number): string {
  return matched === 0 ? "matches no minion" : `matches ${matched.toLocaleString("en-US")}`;
}
