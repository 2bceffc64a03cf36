import { defineConfig, type DefaultTheme } from 'vitepress'

const name = 'Kiosk'

export default defineConfig({
  title: name,
  base: '/product/',
  srcExclude: ['parts/**', '**/draft-*.md'],
  sitemap: { hostname: 'https://docs.example.com' },
  rewrites: {
    'packages/:name/readme.md': 'api/:name.md',
  },
  themeConfig: { nav: [{ text: 'Guide', link: '/guide/install' }] as DefaultTheme.NavItem[] },
  vite: { logLevel: process.env.LOG as 'info' },
})
