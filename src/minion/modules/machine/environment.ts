/**
 * The environment variables of the minion's process, as data: commands inherit them, PATH and SHELL are grains.
 * The program's entry passes them in; the modules do not read `process.env`.
 */
export type Environment = Readonly<Record<string, string | undefined>>;
