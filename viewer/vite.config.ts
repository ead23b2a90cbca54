// Builds two scripts from the same parts: `report.js` stands in the file of a report, `viewer.js` serves the viewer.
// The first line of each has a digest of what it is built from, so that a test without Node sees a script that is too old.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

const FILES = ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/** The SHA-256 of all sources: each as its path, a zero byte, its bytes, and a zero byte, in the order of the paths. */
function digestSources(): string {
  const sources = readdirSync("src", { recursive: true, encoding: "utf-8" }).filter((name) => /\.tsx?$/.test(name));
  const paths = [...FILES, ...sources.map((name) => join("src", name))].map((path) => path.replaceAll("\\", "/")).sort();
  const hash = createHash("sha256");
  for (const path of paths) hash.update(path).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

/** Writes the digest into the first line, which the minifier would leave out. */
const digest: Plugin = {
  name: "digest",
  generateBundle(_, bundle) {
    for (const part of Object.values(bundle)) {
      if (part.type === "chunk") part.code = `/* sources sha256:${digestSources()} */\n${part.code}`;
    }
  },
};

/** Preact can set the HTML of an element. What agents wrote must never be parsed, so a part that tried would set text. */
const textOnly: Plugin = {
  name: "text-only",
  transform(code, id) {
    if (!/preact[\\/]dist[\\/]preact\.mjs$/.test(id)) return null;
    if (!code.includes(".innerHTML")) throw new Error("Preact does not set innerHTML any more: remove this plugin");
    return { code: code.replaceAll(".innerHTML", ".textContent"), map: null };
  },
};

export default defineConfig(({ mode }) => ({
  publicDir: false,
  plugins: [textOnly, digest],
  build: {
    outDir: process.env.CLERKSHIP_BUILT ?? "../src/clerkship/report/page/built",
    emptyOutDir: false,
    target: "es2022",
    minify: true,
    lib: { entry: `src/${mode}.tsx`, name: "clerkship", formats: ["iife"], fileName: () => `${mode}.js` },
  },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
}));
