/** Decrypts the values of a pillar that `decrypt_pillar` names. Source: Salt 3007's `Pillar.decrypt_pillar`, observed. */
import { SaltworksError } from "../../errors.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { PillarDecryption } from "../input/decryption.ts";
import { type Decryption, decryptIn } from "./decrypt.ts";

/**
 * Changes the pillar in place. A path that fails leaves an error in `_errors`, in Salt's words, and the others are still decrypted.
 *
 * @returns the errors
 */
export function decryptPillar(
  pillar: ValueMap,
  wanted: PillarDecryption | undefined,
  decryption: Decryption,
): readonly string[] {
  const errors: string[] = [];
  if (wanted !== undefined) decryptPaths(pillar, wanted, decryption, (message) => errors.push(message));
  const before = pillar.get("_errors");
  if (errors.length > 0) pillar.set("_errors", [...(Array.isArray(before) ? before : []), ...errors]);
  return errors;
}

function decryptPaths(
  pillar: ValueMap,
  { paths, delimiter, byDefault, renderers }: PillarDecryption,
  decryption: Decryption,
  fail: (message: string) => void,
): void {
  if (paths === undefined) {
    fail("decrypt_pillar config option is malformed");
    return;
  }
  for (const [path, written] of paths) {
    const renderer = written ?? byDefault;
    try {
      if (valueAt(pillar, path.split(delimiter)) === undefined) continue;
      if (!renderers.includes(renderer))
        throw new SaltworksError(
          "PILLAR_FAILED",
          `'${renderer}' is not a valid decryption renderer. Valid choices are: ${renderers.join(", ")}`,
        );
      // Another renderer is refused at the start, or has an error in each pillar (`accept_missing`).
      if (renderer === "gpg") replaceAt(pillar, path.split(delimiter), (value) => decryptIn(value, decryption));
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      fail(`Failed to decrypt pillar key '${path}': ${error.message}`);
    }
  }
}

function valueAt(pillar: ValueMap, path: readonly string[]): Value | undefined {
  let value: Value | undefined = pillar;
  for (const part of path) value = value instanceof Map ? value.get(part) : undefined;
  return value ?? undefined;
}

function replaceAt(pillar: ValueMap, path: readonly string[], change: (value: Value) => Value): void {
  const parent = valueAt(pillar, path.slice(0, -1));
  const child = path.at(-1) ?? "";
  const value = valueAt(pillar, path);
  if (parent instanceof Map && value !== undefined) parent.set(child, change(value));
}
