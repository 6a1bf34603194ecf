/** The outputters of two runners' own data: `overstatestage` for stages, `virt_query` for virtual machines. Source: behaviour of Salt 3007. */

import { sortedEntries } from "../../python/key-order.ts";
import { strOf } from "../../python/repr.ts";
import { hideEscapes } from "../../python/text.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { paintFor } from "./colours.ts";

/** Takes a list of maps from a stage's name to its fields. Returns undefined for anything else. */
export function renderStages(value: Value, options: { readonly colour: boolean }): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const paint = paintFor(options.colour);
  const lines: string[] = [];
  for (const stages of value) {
    if (!(stages instanceof Map)) return undefined;
    for (const [name, stage] of stages) {
      const fields = stage instanceof Map ? sortedEntries(stage) : undefined;
      if (fields === undefined) return undefined;
      lines.push(`${paint.boldBlue}${hideEscapes(strOf(name))}: ${paint.end}`);
      for (const [key, field] of fields) {
        lines.push(`    ${paint.boldBlue}${hideEscapes(`${strOf(key)}: ${strOf(field)}`)}${paint.end}`);
      }
    }
  }
  return lines.join("\n");
}

/** Machines are in `data`, by host, then in `vm_info`, by name. Salt looks in the wrong place and shows none. */
export function renderMachines(value: Value): string | undefined {
  const hosts = memberOf(value, "data");
  if (hosts === undefined) return undefined;
  const lines: string[] = [];
  for (const [host, facts] of hosts) {
    const machines = memberOf(facts, "vm_info");
    if (machines === undefined) return undefined;
    lines.push(strOf(host));
    for (const [name, machine] of machines) {
      if (!(machine instanceof Map)) return undefined;
      lines.push(`  ${strOf(name)}`, ...machineLines(strOf(host), machine));
    }
  }
  return hideEscapes(lines.join("\n"));
}

function machineLines(host: string, machine: ValueMap): string[] {
  const lines: string[] = [];
  const add = (indent: number, label: string, value: Value | undefined) =>
    lines.push(`${" ".repeat(indent)}${label}: ${strOf(value ?? null)}`);
  if (machine.has("cpu")) add(4, "CPU", machine.get("cpu"));
  if (machine.has("mem")) add(4, "Memory", machine.get("mem"));
  if (machine.has("state")) add(4, "State", machine.get("state"));
  const graphics = memberOf(machine, "graphics");
  if (graphics?.get("type") === "vnc") add(4, "Graphics", `vnc - ${host}:${strOf(graphics.get("port") ?? null)}`);
  for (const [disk, facts] of memberOf(machine, "disks") ?? []) {
    const field = (name: string) => (facts instanceof Map ? facts.get(name) : undefined);
    lines.push(`    Disk - ${strOf(disk)}:`);
    add(6, "Size", field("disk size"));
    add(6, "File", field("file"));
    add(6, "File Format", field("file format"));
  }
  for (const [mac, facts] of memberOf(machine, "nics") ?? []) {
    const [source] = memberOf(facts, "source")?.values() ?? [];
    lines.push(`    Nic - ${strOf(mac)}:`);
    add(6, "Source", source);
    add(6, "Type", facts instanceof Map ? facts.get("type") : undefined);
  }
  return lines;
}

function memberOf(value: Value, name: string): ValueMap | undefined {
  const member = value instanceof Map ? value.get(name) : undefined;
  return member instanceof Map ? member : undefined;
}
