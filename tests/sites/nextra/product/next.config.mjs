import nextra from 'nextra'

export default nextra({})({ output: 'export', basePath: '/product' })
