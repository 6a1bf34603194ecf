/**
 * The environment variables of the minion's process, as data: commands inherit them, PATH and SHELL are grains.
 * They are handed in by the program's entry; nothing here reads `process.env`.
 */
export type Environment = Readonly<Record<string, string | undefined>>;
