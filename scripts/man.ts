/** Writes the manual pages of the commands (docs/man) in roff, from the option tables. `npm run docs` runs it. */
import { commandAbouts } from "../src/cli/options/command-list.ts";
import type { AnyOption, CommandTable, OptionGroup } from "../src/cli/options/option.ts";
import { commands } from "../src/cli/options/parse.ts";

const note = '.\\" Written by `npm run docs`. Change the option tables in src/cli instead.';

const exitCodes: readonly (readonly [string, string])[] = [
  ["0", "Done, by the rules of Salt's own command of the same name."],
  ["1", "A minion or function failed, or the master could not be asked."],
  ["2", "saltworks salt: nothing returned, or no minion matched."],
  ["64", "The command line or the configuration cannot be understood."],
];

const seeAlso = (names: readonly string[]) => names.map((name) => `.BR ${name} (1)`).join(",\n");

/** Escapes text for roff: no line begins a request, and quotes and dashes keep their form. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replace(/^\./gm, "\\&.");
}

function optionLines(option: AnyOption): string[] {
  const names = option.names.map((name) => {
    const bold = `\\fB${roff(name)}\\fR`;
    if (option.metavar === "") return bold;
    return `${bold}${name.startsWith("--") ? "=" : " "}\\fI${roff(option.metavar)}\\fR`;
  });
  return [".TP", names.join(", "), roff(option.about)];
}

function groupLines({ title, about, options }: OptionGroup): string[] {
  const head = title === "" ? [] : [`.SS ${roff(title)}`, ...(about === undefined ? [] : [roff(about)])];
  return [...head, ...Object.values(options).flatMap(optionLines)];
}

function exitLines(): string[] {
  return [".SH EXIT STATUS", ...exitCodes.flatMap(([code, about]) => [".TP", `.B ${code}`, roff(about)])];
}

function page(name: string, about: string, lines: readonly string[]): string {
  const title = name.toUpperCase().replaceAll("-", "\\-");
  const brief = about.replace(/\.$/, "");
  const head = [note, `.TH ${title} 1 "" Saltworks "Saltworks Manual"`, ".SH NAME", `${roff(name)} \\- ${roff(brief)}`];
  return `${[...head, ...lines].join("\n")}\n`;
}

function commandPage(command: keyof typeof commands, table: CommandTable): string {
  const usage = table.usage.split("\n").map((line) => line.trim());
  // Usage texts name Salt's own program; operators type the subcommand.
  const typed = usage.map((line) => `saltworks ${command}${line.replace(/^(?:saltworks )?[\w-]+/, "")}`);
  const synopsis = typed.flatMap((line, index) => [...(index === 0 ? [] : [".br"]), `.B ${roff(line)}`]);
  return page(`saltworks-${command}`, commandAbouts[command], [
    ".SH SYNOPSIS",
    ...synopsis,
    ".SH DESCRIPTION",
    roff(table.about),
    ".SH OPTIONS",
    ...table.groups.flatMap(groupLines),
    ...exitLines(),
    ".SH SEE ALSO",
    seeAlso(["saltworks"]),
  ]);
}

function mainPage(): string {
  const listed = Object.entries(commandAbouts).flatMap(([name, about]) => [".TP", `.B ${roff(name)}`, roff(about)]);
  const about = "A Salt master for large fleets, with the tools of its operators.";
  return page("saltworks", about, [
    ".SH SYNOPSIS",
    ".B saltworks",
    "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...",
    ".SH DESCRIPTION",
    roff("Each command does what Salt's program of that name does, with its options, output and exit codes."),
    ".SH COMMANDS",
    ...listed,
    ".SH OPTIONS",
    ".TP",
    "\\fB\\-h\\fR, \\fB\\-\\-help\\fR",
    "Show the commands. Each command has this option, too.",
    ".TP",
    "\\fB\\-\\-version\\fR",
    "Show the version.",
    ".TP",
    "\\fB\\-V\\fR, \\fB\\-\\-versions\\-report\\fR",
    "Show the versions of what this program is made of.",
    ".SH FILES",
    ".TP",
    ".I /etc/salt/master",
    "The configuration of the master and of its operators\\(aq commands.",
    ".TP",
    ".I /etc/salt/minion",
    "The configuration of the minion and of \\fBsaltworks call\\fR.",
    ...exitLines(),
    ".SH SEE ALSO",
    seeAlso(Object.keys(commands).map((name) => `saltworks\\-${name}`)),
  ]);
}

/** The pages by their path in the repository. */
export function manualPages(): Map<string, string> {
  const pages = new Map([["docs/man/saltworks.1", mainPage()]]);
  for (const [name, table] of Object.entries(commands)) {
    pages.set(`docs/man/saltworks-${name}.1`, commandPage(name as keyof typeof commands, table));
  }
  return pages;
}
