import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { helpText } from "../../../src/cli/options/help.ts";
import { flag, int, text } from "../../../src/cli/options/option.ts";
import { commands } from "../../../src/cli/options/parse.ts";

describe("helpText", () => {
  it("takes the usual width where a terminal does not say its own", () => {
    for (const command of Object.values(commands)) assert.equal(helpText(command, 0), helpText(command, 80));
  });

  it("lays options out as Salt does", () => {
    const command = {
      program: "salt-x",
      usage: "salt-x [options]",
      about: "Does something.",
      groups: [
        {
          title: "",
          options: {
            a: flag(["-a", "--all"], "All."),
            t: int(["-t", "--timeout"], "TIMEOUT", "Seconds that it may take."),
          },
        },
        { title: "More", about: "About more.", options: { b: text(["--bb"], "B", "word ".repeat(14).trim()) } },
      ],
      unavailable: [["--gone"]],
    };
    const lines = [
      "Usage: salt-x [options]",
      "",
      "Does something.",
      "",
      "Options:",
      "  -a, --all             All.",
      "  -t TIMEOUT, --timeout=TIMEOUT",
      "                        Seconds that it may take.",
      "",
      "  More:",
      "    About more.",
      "",
      `    --bb=B              ${"word ".repeat(11).trim()}`,
      `                        ${"word ".repeat(3).trim()}`,
      "",
    ];
    assert.equal(helpText(command), lines.join("\n"));
  });
  for (const command of Object.values(commands)) {
    it(`fits the terminal, names every option of ${command.program} and none that it lacks`, () => {
      for (const columns of [80, 120]) {
        const help = helpText(command, columns);
        assert.ok(help.split("\n").every((line) => line.length <= columns - 2));
        for (const group of command.groups) {
          for (const { names } of Object.values(group.options)) assert.ok(names.every((name) => help.includes(name)));
        }
        const words = help.split(/[\s,=]+/);
        for (const name of command.unavailable.flat()) assert.ok(!words.includes(name), name);
      }
    });
  }
});
