/** Text arguments of filters, from the values that Salt accepts as text. */
import { type Item, typeName } from "../../../python/values.ts";
import { typeFault } from "./objects.ts";

/** @throws PILLAR_FAILED for other values */
export function pythonText(input: Item, wantedBy: string): string {
  if (typeof input === "string") return input;
  if (input instanceof Uint8Array) return Buffer.from(input).toString("utf8");
  throw typeFault(`${wantedBy}: expected str, got ${typeName(input)}`);
}
