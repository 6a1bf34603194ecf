/** The `key` outputter: key names, fingerprints or key texts under a heading for each state. */

import { sortedAsText } from "../../python/key-order.ts";
import { strOf } from "../../python/repr.ts";
import { compareText, hideEscapes } from "../../python/text.ts";
import type { Value } from "../../wire/values.ts";
import { type Colour, paintFor } from "./colours.ts";

type Section = { readonly heading: string; readonly headingColour: Colour; readonly keyColour: Colour };

const sections: Readonly<Record<string, Section>> = {
  local: { heading: "Local Keys:", headingColour: "boldMagenta", keyColour: "magenta" },
  minions: { heading: "Accepted Keys:", headingColour: "boldGreen", keyColour: "green" },
  minions_denied: { heading: "Denied Keys:", headingColour: "boldMagenta", keyColour: "magenta" },
  minions_pre: { heading: "Unaccepted Keys:", headingColour: "boldRed", keyColour: "red" },
  minions_rejected: { heading: "Rejected Keys:", headingColour: "boldBlue", keyColour: "blue" },
};

/** Returns undefined for data that is not keyed by states of keys: the `nested` outputter then shows it. */
export function renderKeyLists(value: Value, options: { readonly colour: boolean }): string | undefined {
  if (!(value instanceof Map)) return undefined;
  const paint = paintFor(options.colour);
  const lines: string[] = [];
  for (const [state, keys] of sortedAsText(value)) {
    const section = typeof state === "string" && Object.hasOwn(sections, state) ? sections[state] : undefined;
    if (!section) return undefined;
    lines.push(paint[section.headingColour] + section.heading + paint.end);
    for (const line of keyLines(keys)) lines.push(paint[section.keyColour] + line + paint.end);
  }
  return lines.join("\n");
}

function keyLines(keys: Value): string[] {
  if (Array.isArray(keys)) return keys.map(strOf).sort(compareText).map(hideEscapes);
  if (!(keys instanceof Map)) return [];
  return sortedAsText(keys).map(([id, text]) => `${hideEscapes(strOf(id))}:  ${hideEscapes(strOf(text))}`);
}
