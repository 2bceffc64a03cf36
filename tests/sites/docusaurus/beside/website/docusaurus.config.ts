import type { Config } from '@docusaurus/types'
import type { Options } from '@docusaurus/preset-classic'

const config: Config = {
  title: 'Handbook',
  url: 'https://handbook.example.com',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  markdown: { hooks: { onBrokenMarkdownLinks: 'throw' } },
  presets: [
    [
      '@docusaurus/preset-classic',
      {
        docs: {
          path: '../docs',
          routeBasePath: '/',
          include: ['{guide,reference}/**/*.{md,mdx}', 'index.md', 'faq.mdx'],
          sidebarPath: undefined
        },
        blog: false
      } satisfies Options
    ]
  ]
}

export default config
