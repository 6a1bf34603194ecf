/** What the operator's own Salt can run of what is not built here: turns findings about plug-ins in Python from lost to kept. */
import type { MasterConfig } from "../config/load.ts";
import { sidecarStartTimeoutMs } from "../limits.ts";
import { type FoundPython, findPython } from "../sidecar/find-python.ts";
import { PythonProcess } from "../sidecar/python-process.ts";
import { sidecarSettings } from "../sidecar/settings.ts";
import type { Chapter, Finding, Plugin } from "./finding.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Found = Extract<FoundPython, { readonly python: string }>;

/** Starts Python only if a finding names a plug-in, and ends it. */
export async function servedByPython(
  chapters: readonly Chapter[],
  config: MasterConfig,
  environment: Environment,
): Promise<readonly Chapter[]> {
  const wanted = chapters.flatMap(({ findings }) => findings.flatMap(({ plugins = [] }) => plugins));
  if (wanted.length === 0) return chapters;
  const found = await findPython(config.salt_python, environment);
  if (found.python === undefined) return told(chapters, (finding) => withReason(finding, found.why));
  try {
    const has = await loadable(config, found.python, environment, wanted);
    return told(chapters, (finding) => servedFinding(finding, has, found));
  } catch (error) {
    const { message } = error as Error;
    return told(chapters, (finding) => withReason(finding, message));
  }
}

function told(chapters: readonly Chapter[], change: (finding: Finding) => Finding): readonly Chapter[] {
  return chapters.map(({ subject, findings }) => ({
    subject,
    findings: findings.map((finding) => {
      const { plugins, ...rest } = finding;
      return plugins === undefined ? finding : { ...rest, ...withoutPlugins(change(finding)) };
    }),
  }));
}

function withoutPlugins({ plugins: _, ...rest }: Finding): Finding {
  return rest;
}

function withReason(finding: Finding, why: string): Finding {
  return { ...finding, about: `${finding.about.replace(/\.$/, "")}; Python could run it, but ${why}` };
}

function servedFinding(finding: Finding, has: (plugin: Plugin) => boolean, { python, salt }: Found): Finding {
  const { plugins = [], about } = finding;
  const missing = plugins.filter((plugin) => !has(plugin)).map(({ name }) => name);
  if (missing.length === 0)
    return { ...finding, verdict: "kept", about: `runs in Python, by Salt ${salt} (${python})` };
  return {
    ...finding,
    about: `${about.replace(/\.$/, "")}; the Salt ${salt} of ${python} cannot load it, either: ${missing.join(", ")}`,
  };
}

/** Asks Salt's loader. @throws SaltworksError SIDECAR_FAILED, SIDECAR_TIMEOUT, FUNCTION_FAILED */
async function loadable(
  config: MasterConfig,
  python: string,
  environment: Environment,
  wanted: readonly Plugin[],
): Promise<(plugin: Plugin) => boolean> {
  const names: Record<string, string[]> = {};
  for (const { kind, name } of wanted) names[kind] = [...(names[kind] ?? []), name];
  const process = await PythonProcess.start(sidecarSettings(config, python, environment));
  try {
    const { value } = await process.ask({ kind: "find", names }, sidecarStartTimeoutMs);
    return ({ kind, name }) => {
      const there = value instanceof Map ? value.get(kind) : undefined;
      return Array.isArray(there) && there.includes(name);
    };
  } finally {
    process.end();
  }
}
