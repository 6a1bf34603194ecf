/**
 * Commands of features that are not built, with the answers of a Salt master where the feature is not configured or not permitted.
 * Source: docs/compatibility.md, "What is not built yet, and how it answers".
 */
import type { Encodable } from "../../wire/values.ts";

export const emptyAnswers: ReadonlyMap<string, Encodable> = new Map<string, Encodable>([["verify_minion", ""]]);
