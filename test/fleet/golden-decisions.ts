/** Where we do not print what Salt printed: by decision, or not yet. */
import type { Decisions, Deviation } from "./golden-replay.ts";
import { variations } from "./golden-variations.ts";

const deviations: { readonly [key: string]: Deviation } = {};

const notYet: { readonly [key: string]: string } = {};

export const decisions: Decisions = { deviations, notYet, variations };
