/** The options of decryption: how gpg is called, and what `decrypt_pillar` names. */

export type GpgSettings = {
  readonly keyDirectory: string;
  /** How long a decrypted message is kept in memory, milliseconds; 0: not at all. */
  readonly keptMs: number;
  /** Whether a message that cannot be decrypted is an error. Otherwise it stays as it is. */
  readonly mustSucceed: boolean;
};

export type PillarDecryption = {
  /** Paths with their renderers; null stands for `byDefault`. Undefined if the option is malformed. */
  readonly paths: ReadonlyMap<string, string | null> | undefined;
  readonly delimiter: string;
  readonly byDefault: string;
  readonly renderers: readonly string[];
};

/** Reads `decrypt_pillar`: a map, or a list of paths and of maps with one path each. */
export function readDecryptPillar(option: unknown): PillarDecryption["paths"] {
  const paths = new Map<string, string | null>();
  const entries: readonly unknown[] = Array.isArray(option) ? option : [option];
  for (const entry of entries) {
    if (typeof entry === "string" && Array.isArray(option)) {
      paths.set(entry, null);
      continue;
    }
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return undefined;
    const members = Object.entries(entry);
    if (Array.isArray(option) && members.length !== 1) return undefined;
    for (const [path, renderer] of members) paths.set(path, typeof renderer === "string" ? renderer || null : null);
  }
  return paths;
}
