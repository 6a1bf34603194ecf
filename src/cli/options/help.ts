/** Lays out usage and help of a command as Salt does: names up to column 24, then their descriptions. */
import { wrapWords } from "../outputters/word-wrap.ts";
import type { AnyOption, CommandTable, OptionGroup } from "./option.ts";

const aboutColumn = 24;
const defaultWidth = 80;
const textWidthMin = 11;

/** The usage line, which precedes an error on standard error. */
export function usageText(command: CommandTable): string {
  return `Usage: ${command.usage}\n\n`;
}

/** The help of a command. `columns`: width of the terminal; 0 if unknown, as in some containers. */
export function helpText(command: CommandTable, columns = 0): string {
  // Two columns stay free, as in Salt.
  const width = Math.max((columns === 0 ? defaultWidth : columns) - 2, aboutColumn + textWidthMin);
  const groups = command.groups.map((group) => groupText(group, width));
  return `${usageText(command)}${wrapWords(command.about, width, 0)}\n\nOptions:\n${groups.join("\n")}`;
}

function groupText(group: OptionGroup, width: number): string {
  const options = Object.values(group.options);
  if (group.title === "") return options.map((option) => optionText(option, 2, width)).join("");
  const about = group.about === undefined ? "" : `${wrapWords(group.about, width, 4)}\n\n`;
  return `  ${group.title}:\n${about}${options.map((option) => optionText(option, 4, width)).join("")}`;
}

function optionText(option: AnyOption, indent: number, width: number): string {
  const names = `${" ".repeat(indent)}${option.names.map((name) => withMetavar(name, option.metavar)).join(", ")}`;
  const about = wrapWords(option.about, width, aboutColumn);
  const isBesideNames = names.length <= aboutColumn - 2;
  return isBesideNames ? `${names}${about.slice(names.length)}\n` : `${names}\n${about}\n`;
}

function withMetavar(name: string, metavar: string): string {
  if (metavar === "") return name;
  return name.startsWith("--") ? `${name}=${metavar}` : `${name} ${metavar}`;
}
