/** Chooses the format of an answer by the header `Accept`. */
import { ApiError } from "./errors.ts";

export type AnswerFormat = "json" | "yaml";

export const mediaTypes = { json: "application/json", yaml: "application/x-yaml" } as const;

type Wish = { readonly type: string; readonly quality: number };

function wishesOf(accept: string): Wish[] {
  return accept.split(",").map((part) => {
    const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const given = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = given === undefined ? 1 : Number(given.slice(2));
    return { type, quality: Number.isFinite(quality) ? quality : 0 };
  });
}

/** How much a type is wanted: by its own name, else by `type/*`, else by the star for all. */
function qualityOf(accept: string, type: string): number {
  const wishes = wishesOf(accept);
  for (const name of [type, `${type.split("/")[0]}/*`, "*/*"]) {
    const wish = wishes.find((candidate) => candidate.type === name);
    if (wish !== undefined) return wish.quality;
  }
  return 0;
}

/** JSON unless the client prefers YAML. @throws ApiError 406 if it wants neither */
export function answerFormat(accept: string | undefined): AnswerFormat {
  if (accept === undefined || accept === "*/*" || accept === mediaTypes.json || accept.trim() === "") return "json";
  const [json, yaml] = [qualityOf(accept, mediaTypes.json), qualityOf(accept, mediaTypes.yaml)];
  if (json <= 0 && yaml <= 0) {
    const shown = accept.slice(0, 200);
    throw new ApiError(
      "FORMAT_UNKNOWN",
      `Your client sent this Accept header: ${shown}. But this resource only emits these media types: application/json, application/x-yaml.`,
    );
  }
  return yaml > json ? "yaml" : "json";
}
/** Whether a browser asks for a page: HTML is named, and wanted more than JSON. */
export function prefersPage(accept: string | undefined): boolean {
  if (accept === undefined || !/\btext\/html\b/i.test(accept)) return false;
  return qualityOf(accept, "text/html") > qualityOf(accept, mediaTypes.json);
}
