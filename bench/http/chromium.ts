/** Headless Chromium from the system's packages. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const browserProgram: string | undefined = programs.find((file) => existsSync(file));

export async function openBrowser(): Promise<Browser> {
  if (browserProgram === undefined) throw new Error(`Chromium is not installed: ${programs.join(", ")}`);
  return await chromium.launch({ executablePath: browserProgram, args: ["--no-sandbox"] });
}
