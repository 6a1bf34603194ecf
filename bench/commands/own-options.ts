/** Refuses options that a mode of a command does not have, so that none is silently without effect. */

import { type CommandTable, mainName } from "../../src/cli/options/option.ts";
import { type CommandName, commands, type OptionsOf } from "../../src/cli/options/parse.ts";
import { SaltworksError } from "../../src/errors.ts";

/**
 * `mode`: as operators call it, for the message.
 *
 * @throws SaltworksError USAGE that names the first option that was given and is not one of `own`
 */
export function demandOwn<C extends CommandName>(
  command: C,
  options: OptionsOf<C>,
  mode: string,
  own: readonly (keyof OptionsOf<C>)[],
): void {
  const table: CommandTable = commands[command];
  const values: Readonly<Record<string, unknown>> = { ...options };
  for (const [key, option] of table.groups.flatMap((group) => Object.entries(group.options))) {
    if (values[key] === undefined || values[key] === false || own.some((name) => name === key)) continue;
    throw new SaltworksError("USAGE", `${mode} has no use for ${mainName(option)}`);
  }
}
