/** Random facts and targets from a seed, of few words so that they often match: nested, listed, typed and in mixed case. */

import type { Datum, DatumMap, Facts } from "../../../src/target/facts.ts";
import { Float } from "../../../src/wire/values.ts";
import { randomFrom } from "../../wire/random.ts";

/** Random choices; the same seed gives the same case. */
export class Random {
  readonly below: (count: number) => number;

  constructor(seed: number) {
    this.below = randomFrom(seed).below;
  }

  chance(share: number): boolean {
    return this.below(1_000) < share * 1_000;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }
}

const words = [
  "a",
  "b",
  "os",
  "Debian",
  "debian",
  "web",
  "WEB",
  "x",
  "1",
  "0",
  "-1",
  "true",
  "*",
  "a:b",
  "[a]",
  "a+b",
  "é",
  "10.0.0.1",
];
const scalars: readonly Datum[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  new Float(1),
  10n ** 18n,
  "",
  ...words,
  Uint8Array.of(97),
];

function randomDatum(random: Random, depth: number): Datum {
  const shape = depth <= 0 ? 0 : random.below(6);
  if (shape <= 2) return random.pick(scalars);
  if (shape === 3) return Array.from({ length: random.below(4) }, () => randomDatum(random, depth - 1));
  return randomMap(random, depth - 1);
}

function randomMap(random: Random, depth: number): DatumMap {
  const map = new Map<Datum, Datum>();
  for (let count = random.below(4); count > 0; count -= 1) {
    const key = random.chance(0.15) ? random.pick<Datum>([0, 1, -1, true, false, 1.5, null]) : random.pick(words);
    map.set(key, randomDatum(random, depth));
  }
  return map;
}

export function randomFacts(random: Random, id: string): Facts {
  const grains = new Map<Datum, Datum>([
    ["os", random.pick(["Debian", "CentOS", "debian"])],
    [
      "roles",
      random.pick<Datum>([["web", "db"], "web", [], ["WEB", new Float(1)], [new Map<Datum, Datum>([["web", "a"]])]]),
    ],
    ["ipv4", random.pick<Datum>([["10.0.0.1", "127.0.0.1"], "10.0.0.2", [], null, [1, "10.1.0.1"]])],
    ["ipv6", random.pick<Datum>([["::1"], "2001:DB8::7", []])],
    ...randomMap(random, 3),
  ]);
  const app = new Map<Datum, Datum>([["role", random.pick(["web", "db", "Web"])]]);
  return { id, grains, pillar: new Map<Datum, Datum>([["app", app], ...randomMap(random, 3)]) };
}

type Expression = { readonly kind: string; readonly expression: string | string[]; readonly delimiter: string };

function randomPattern(random: Random): string {
  return random.pick([
    ...words,
    "*",
    "w*",
    "*b*",
    "?",
    "[a-w]*",
    "[!d]*",
    "none",
    "1.0",
    "b'a'",
    "*:a",
    "d.*",
    ".",
    "a|b",
    "(?!w)",
    "[",
  ]);
}

function randomNested(random: Random, delimiter: string): string {
  const first = random.pick(["os", "roles", "app", "*", ...words]);
  const parts = Array.from({ length: random.pick([0, 0, 1, 1, 2, 3]) }, () => random.pick([...words, "role", "*"]));
  return [first, ...parts, randomPattern(random)].join(delimiter);
}

const addresses = [
  "10.0.0.1",
  "10.0.0.0/24",
  "10.0.0.0/255.0.0.0",
  "0.0.0.0/0",
  "::1",
  "2001:db8::/32",
  "10.0.0.1/8",
  "x",
];

function randomTerm(random: Random): string {
  const letter = random.pick(["G", "P", "I", "J", "G|", "I/", "L", "E", "S", ""]);
  if (letter === "") return random.pick(["*", "m1*", "m2", "m[0-9]", "nobody"]);
  if (letter === "L") return `L@m${random.below(30)},m${random.below(30)},nobody`;
  if (letter === "E") return `E@${random.pick(["m1.*", "m[0-4]$", "(m3|m4)", "("])}`;
  if (letter === "S") return `S@${random.pick(addresses)}`;
  return `${letter}@${randomNested(random, letter[1] ?? ":").replaceAll(/\s/g, "")}`;
}

function randomCompound(random: Random): string {
  const words: string[] = [];
  const terms = 1 + random.below(5);
  for (let term = 0; term < terms; term += 1) {
    if (term > 0) words.push(random.pick(["and", "or"]));
    if (random.chance(0.25)) words.push("not");
    if (random.chance(0.2)) words.push("(", randomTerm(random), random.pick(["and", "or"]), randomTerm(random), ")");
    else words.push(randomTerm(random));
  }
  return words.join(" ");
}

export function randomExpression(random: Random): Expression {
  const kind = random.pick([
    ...["glob", "pcre", "list", "grain", "grain", "grain_pcre", "pillar", "pillar", "pillar_pcre", "pillar_exact"],
    ...["ipcidr", "data", "compound", "compound", "compound", "compound_pillar_exact"],
  ]);
  const delimiter = random.pick([":", ":", ":", "/", "|"]);
  if (kind === "glob") return { kind, expression: random.pick(["*", "m1*", "m2", "m?", "[!m]*", "M1"]), delimiter };
  if (kind === "pcre") return { kind, expression: random.pick(["m1", "m.$", "(m2|m3)$", "", "x"]), delimiter };
  if (kind === "list") return { kind, expression: ["m1", `m${random.below(40)}`, "nobody", ""], delimiter };
  if (kind === "ipcidr") return { kind, expression: random.pick(addresses), delimiter };
  if (kind === "data") return { kind, expression: "a:b", delimiter };
  if (kind.startsWith("compound")) return { kind, expression: randomCompound(random), delimiter };
  return { kind, expression: randomNested(random, delimiter), delimiter };
}
