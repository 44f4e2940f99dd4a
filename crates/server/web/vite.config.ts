import { defineConfig } from "vite";

// One script and one style sheet: the page is small, and each further file would be a round trip.
export default defineConfig({
  base: "/",
  build: {
    outDir: "dist",
    assetsDir: "assets",
    sourcemap: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    // Nothing may become a data: address, which the policy of the server refuses.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": process.env["HPROF_RS_SERVER"] ?? "http://127.0.0.1:7117" } },
});
